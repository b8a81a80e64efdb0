package workload

import "testing"

func TestLongestOfPairs(t *testing.T) {
	list := Workload{Pairs: &Pairs{List: [][2]int{{8000, 10}, {10, 8000}}}}
	if n := list.Longest(); n != 8010 {
		t.Errorf("the longest request has %d tokens", n)
	}
	file := Workload{Pairs: &Pairs{File: &File{Columns: []string{"in", "out"}, Read: [][]int{{5, 700}, {900, 1}}}}}
	if n := file.Longest(); n != 905 {
		t.Errorf("the longest request of the file has %d tokens", n)
	}
}

// A stored row can have been edited: it is read without a panic.
func TestPairsOfAnEditedRow(t *testing.T) {
	for _, columns := range [][]string{nil, {"one"}} {
		w := Workload{Pairs: &Pairs{File: &File{Columns: columns}}}
		if n := len(w.Classes()); n != 1 {
			t.Errorf("%q: %d classes", columns, n)
		}
	}
}
