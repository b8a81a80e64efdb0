package export

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"bench/experiment/stats"
	"bench/experiment/text"
	"bench/report"
	"bench/report/compare"
)

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
	Text    string `xml:",chardata"`
}

// JUnit writes the cases of the gate, one for each point and figure: a regression is a failure, an undecided
// case an error; both are skipped if they pass, unless new failed to measure it. What was not compared is
// skipped too: a new base, and what was left out of base.
func JUnit(w io.Writer, c *compare.Comparison) error {
	s := junitSuite{Name: "bench compare: " + oneLine(report.AnswerComparison(c).Sentence())}
	f := report.NewForest(c)
	if c.Gate != nil {
		for _, x := range c.Gate.Cases {
			s.add(x, c.Gate, oneLine(f.CaseText(c, x)))
		}
	}
	if c.NewBase != nil {
		s.skip("all points", "new base", "new base: "+c.NewBase.Reason())
	}
	left := slices.Clone(c.LeftOut)
	for _, p := range c.Points {
		left = append(left, p.LeftOut...)
	}
	for _, x := range left {
		s.skip("left out of base", strings.TrimSpace(x.Run+" "+x.Row), x.Why)
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

// add takes the case in one sentence; why it was decided so is the text of its element.
func (s *junitSuite) add(x compare.Case, gate *compare.Outcome, sentence string) {
	out := junitCase{Class: cmp.Or(oneLine(x.Where()), "all points"), Name: cmp.Or(x.Metric, "comparable")}
	reason := &junitReason{Message: sentence, Text: oneLine(x.Reason())}
	switch {
	case x.Verdict == stats.Fail && x.Since != "",
		x.Verdict == stats.Undecided && gate.UndecidedPasses && !x.Suspected && !x.Failed:
		out.Skipped = reason
		s.Skipped++
	case x.Verdict == stats.Fail:
		reason.Type = "regression"
		out.Failure = reason
		s.Failures++
	case x.Verdict == stats.Undecided:
		reason.Type = "undecided"
		if x.Failed {
			reason.Type = "failed"
		}
		out.Error = reason
		s.Errors++
	}
	s.Cases = append(s.Cases, out)
}

func (s *junitSuite) skip(class, name, why string) {
	s.Cases = append(s.Cases, junitCase{Class: class, Name: oneLine(name),
		Skipped: &junitReason{Message: oneLine(why)}})
	s.Skipped++
}

func oneLine(s string) string { return strings.Join(strings.Fields(text.Escape(s)), " ") }
