package roofline

import (
	"fmt"
	"strings"

	"bench/experiment/published"
	"bench/experiment/text"
	"bench/experiment/unit"
)

func publishedText(figures []published.Compared, width int) string {
	if len(figures) == 0 {
		return ""
	}
	heading := "published figures at concurrency c (mean or median: not specified), expected for the published run: its layout, lengths and start"
	if lengths := published.LengthsNote(figures); lengths != "" {
		heading += "; " + lengths
	}
	s := strings.Join(text.Wrap("", heading, "  ", width), "\n") + "\n\n"
	if table := publishedTimes(figures, width); table != "" {
		s += table + "\n"
	}
	for _, f := range figures {
		if f.Concurrency == 0 {
			s += strings.Join(text.Wrap("  highest", highestText(f), strings.Repeat(" ", 10), width), "\n") + "\n"
		}
	}
	return s
}

func publishedTimes(figures []published.Compared, width int) string {
	t := [][]string{{"", "load", "TTFT", "expected", "TPOT", "expected", "source"}}
	for _, f := range figures {
		if f.Concurrency == 0 {
			continue
		}
		t = append(t, []string{" " + f.By(), fmt.Sprintf("c%d", f.Concurrency), unit.Digits(f.TTFTMs),
			expectedText(f.TTFTMs, f.TTFTRatio),
			unit.Digits(f.TPOTMs), expectedText(f.TPOTMs, f.TPOTRatio), f.From()})
	}
	if len(t) == 1 {
		return ""
	}
	return text.Table(t, width, 1, 2, 3, 4, 5)
}

func expectedText(published float64, ratio *float64) string {
	if ratio == nil {
		return "–"
	}
	return unit.Digits(published * *ratio)
}

func highestText(f published.Compared) string {
	text := fmt.Sprintf("%s tok/s/GPU: %s (%s)", unit.Digits(f.OutputPerGPU), f.By(), f.From())
	switch {
	case f.Scenario != "":
		text += fmt.Sprintf("; %s, lengths of MLPerf's data set", f.Scenario)
	case f.OutputRatio != nil:
		text += fmt.Sprintf("; expected peak %s", expectedText(f.OutputPerGPU, f.OutputRatio))
	}
	return text
}
