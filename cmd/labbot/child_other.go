//go:build !linux

package main

import "syscall"

func childAttr() *syscall.SysProcAttr { return nil }

func (c *child) start() error { return c.cmd.Start() }
