// SPDX-License-Identifier: Apache-2.0

// Ways in which a Go program hangs, selected by the first argument. Prints "ready" before it hangs.
package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"
)

func ready() { fmt.Println("ready") }

func saveOrder() {
	var orders sync.Mutex
	orders.Lock()
	go func() { time.Sleep(1000 * time.Hour); orders.Unlock() }()
	ready()
	orders.Lock()
}

func fetchPrices() {
	server, _ := net.Listen("tcp", "127.0.0.1:0")
	connection, _ := net.Dial("tcp", server.Addr().String())
	var answer [1]byte
	ready()
	connection.Read(answer[:])
}

// Two goroutines that take two locks in opposite order, in a server.
func transfer() {
	server, _ := net.Listen("tcp", "127.0.0.1:0")
	go server.Accept()
	var from, to sync.Mutex
	taken := make(chan bool)
	go func() {
		to.Lock()
		taken <- true
		from.Lock()
	}()
	from.Lock()
	<-taken
	ready()
	to.Lock()
}

func takeResult() {
	results := make(chan int)
	go func() { time.Sleep(1000 * time.Hour); results <- 1 }()
	ready()
	<-results
}

func computePrimes() int {
	ready()
	number := 1
	for number != 0 {
		number = number*31 + 7
	}
	return number
}

func runTool() {
	ready()
	exec.Command("sleep", "1000").Run()
}

func openLog() {
	ready()
	os.Open("fifo")
}

func main() {
	switch os.Args[1] {
	case "lock":
		saveOrder()
	case "read":
		fetchPrices()
	case "deadlock":
		transfer()
	case "channel":
		takeResult()
	case "spin":
		fmt.Println(computePrimes())
	case "child":
		runTool()
	case "open":
		openLog()
	default:
		os.Exit(64)
	}
}
