//go:build !linux

package load

import (
	"context"
	"time"
)

func lockTimerThread() (unlock func()) { return func() {} }

func waitUntil(ctx context.Context, t time.Time) { waitTimer(ctx, t) }
