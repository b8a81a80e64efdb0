package stats

import (
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// ShareInterval is the confidence interval of a share of n independent values, exact for any n: Clopper and Pearson,
// "The use of confidence or fiducial limits illustrated in the case of the binomial", Biometrika 26(4), 1934. n may
// be a fraction, the effective size of a sample in clusters: Korn and Graubard, "Confidence intervals for
// proportions with small expected number of positive counts estimated from survey data", Survey Methodology 24(2),
// 1998. It is [0, 1] for n = 0.
func ShareInterval(share, n, confidence float64) Interval {
	iv := Interval{0, 1}
	tail := (1 - confidence) / 2
	if !(n > 0) || !(tail > 0) {
		return iv
	}
	in, out := share*n, (1-share)*n
	if in > 0 {
		iv.Lo = mathext.InvRegIncBeta(in, out+1, tail)
	}
	if out > 0 {
		iv.Hi = mathext.InvRegIncBeta(in+1, out, 1-tail)
	}
	return iv
}

type Cluster struct{ In, N int }

// EffectiveSize is the number of independent values whose 95 % interval of a share is as wide as that of these: the
// size over the design effect, by the variance between clusters (Cochran, "Sampling Techniques", 3rd edition, section
// 9.5), and less for few clusters, which show that variance badly: by the quantiles of Student's t (Korn and Graubard).
// It is at most the number of values. A share of 0 or 1 shows no variance: it counts as many values as clusters.
func EffectiveSize(clusters []Cluster) float64 {
	in, n, count := 0.0, 0.0, float64(len(clusters))
	for _, c := range clusters {
		in, n = in+float64(c.In), n+float64(c.N)
	}
	if share := in / n; count < n && share > 0 && share < 1 && count > 1 {
		sum := 0.0
		for _, c := range clusters {
			d := float64(c.In) - share*float64(c.N)
			sum += d * d
		}
		designEffect := sum / (share * (1 - share) * n) * count / (count - 1)
		t := func(freedom float64) float64 { return distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(0.975) }
		few := t(n-1) / t(count-1)
		return n / max(1, designEffect) * few * few
	}
	return count
}
