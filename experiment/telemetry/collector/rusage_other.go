//go:build !unix

package collector

import "time"

func processTime() (user, system *time.Duration) { return nil, nil }

func fileLimit() int { return 0 }
