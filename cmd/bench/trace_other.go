//go:build !unix

package main

import "os"

func openUnblocked(name string) (*os.File, error) { return os.Open(name) }

func awaitWriter(*os.File) error { return nil }
