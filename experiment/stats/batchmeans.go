package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

const (
	mostBatches   = 10
	fewestBatches = 4
	leastBatch    = 5 // values in a batch
)

// BatchMeans is a confidence interval of the mean of a series of few dependent values in time order: Student's t over
// the means of at most 10 batches of successive values (Law, "Simulation Modeling and Analysis", 5th edition, section
// 9.5.3). It is unbounded below 20 values. MeanInterval needs more of them and assumes less.
func BatchMeans(values []float64, confidence float64) Interval {
	batches := min(mostBatches, len(values)/leastBatch)
	if batches < fewestBatches {
		return unbounded()
	}
	mean, sd := stat.MeanStdDev(blockMeans(values, batches), nil)
	half := quantileOfT(1-(1-confidence)/2, float64(batches-1)) * sd / math.Sqrt(float64(batches))
	return Interval{mean - half, mean + half}
}
