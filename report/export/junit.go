package export

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"bench/experiment/safetext"
	"bench/experiment/stats"
	"bench/report"
	"bench/report/compare"
)

// junitSuite is the root of JUnit XML, with the elements that CI systems read.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string       `xml:"classname,attr"`
	Name    string       `xml:"name,attr"`
	Failure *junitReason `xml:"failure"`
	Error   *junitReason `xml:"error"`
	Skipped *junitReason `xml:"skipped"`
}

type junitReason struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
}

// JUnit writes the cases of the gate, one for each point and figure: a regression is a failure, an undecided
// case an error, or skipped if undecided passes.
func JUnit(w io.Writer, c *compare.Comparison) error {
	s := junitSuite{Name: "bench compare: " + oneLine(report.ComparisonTitle(c))}
	if c.Gate != nil {
		for _, x := range c.Gate.Cases {
			s.add(x, c.Gate.UndecidedPasses)
		}
	}
	s.Tests = len(s.Cases)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("writing JUnit: %w", err)
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(s); err != nil {
		return fmt.Errorf("writing JUnit: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) add(x compare.Case, passes bool) {
	out := junitCase{Class: cmp.Or(oneLine(x.Where()), "all points"), Name: cmp.Or(x.Metric, "comparable")}
	reason := &junitReason{Message: oneLine(x.Why)}
	switch {
	case x.Verdict == stats.Fail:
		reason.Type = "regression"
		out.Failure = reason
		s.Failures++
	case x.Verdict == stats.Undecided && passes:
		out.Skipped = reason
		s.Skipped++
	case x.Verdict == stats.Undecided:
		reason.Type = "undecided"
		out.Error = reason
		s.Errors++
	}
	s.Cases = append(s.Cases, out)
}

// oneLine is a message on one line.
func oneLine(s string) string { return strings.Join(strings.Fields(safetext.Escape(s)), " ") }
