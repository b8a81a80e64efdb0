//go:build !unix

package main

import "os"

// continued never reports: without job control a terminal cannot stop the program.
func continued() (back <-chan os.Signal, forget func()) { return nil, func() {} }
