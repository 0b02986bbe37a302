// SPDX-License-Identifier: Apache-2.0

// Ways in which a Go program hangs because another one does not answer, selected by the first argument. Prints "ready" before it
// hangs.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
)

func ready() { fmt.Println("ready") }

// A server whose requests wait for each other, and the first one for a database.
func serveOrders() {
	backend := exec.Command(os.Args[0], "backend")
	input, _ := backend.StdinPipe()
	output, _ := backend.StdoutPipe()
	backend.Start()
	var database string
	fmt.Fscanln(output, &database)
	listener, _ := net.Listen("tcp", "127.0.0.1:0")
	var orders sync.Mutex
	http.HandleFunc("/", func(http.ResponseWriter, *http.Request) {
		orders.Lock()
		defer orders.Unlock()
		queryStock(database)
	})
	fmt.Fprintln(input, listener.Addr())
	ready()
	http.Serve(listener, nil)
}

func queryStock(database string) {
	connection, _ := net.Dial("tcp", database)
	var answer [1]byte
	connection.Read(answer[:])
}

// The program at the other end: a database that never answers, and twelve users of the server.
func backend() {
	database, _ := net.Listen("tcp", "127.0.0.1:0")
	fmt.Println(database.Addr())
	var server string
	fmt.Scanln(&server)
	for i := 0; i < 12; i++ {
		go http.Get("http://" + server)
	}
	var clients []net.Conn
	for {
		client, _ := database.Accept()
		clients = append(clients, client)
	}
}

// A request without a limit.
func chargeCard() {
	bank := exec.Command(os.Args[0], "backend")
	bank.StdinPipe()
	output, _ := bank.StdoutPipe()
	bank.Start()
	var address string
	fmt.Fscanln(output, &address)
	ready()
	http.Get("http://" + address)
}

func main() {
	switch os.Args[1] {
	case "serve":
		serveOrders()
	case "request":
		chargeCard()
	case "backend":
		backend()
	default:
		os.Exit(64)
	}
}
