package main

import _ "embed"

// licenses has the license texts of everything that is linked into bench, ECharts included. TestLicenses keeps it
// complete: make licenses writes it anew, and licenses.txt, the same text for releases.
//
//go:embed licenses.txt.gz
var licenses []byte
