//go:build !linux

package mock

func preciseClock() (waiter, func()) { return timerWait, func() {} }
