// SPDX-License-Identifier: Apache-2.0

// The service of ../service.c in Go. The main loop is the select of the main goroutine, which alone serves the
// watchdog: an answer from another goroutine would not prove that this one runs.
//
// In a program of your own, `#cgo pkg-config: libwatchdog` finds the library.
package main

/*
#include <poll.h>
#include <stdlib.h>

#include "watchdog.h"

typedef const char const_char;

int enterState(struct watchdog *watchdog, int state, uint64_t id, void *context);
int handleEvent(struct watchdog *watchdog, const_char *kind, const_char *payload, uint64_t id, void *context);
void takeBackgroundTime(struct watchdog *watchdog, int64_t microseconds, void *context);
void expire(struct watchdog *watchdog, void *context);
void goOnAlone(struct watchdog *watchdog, void *context);
*/
import "C"

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

const (
	countInterval = time.Second
	saveDuration  = 20 * time.Millisecond
)

var (
	watchdog *C.struct_watchdog
	count    int
	saveTask C.uint64_t
)

// The watchdog watches the thread that serves it; this keeps the main goroutine on the main thread.
func init() { runtime.LockOSThread() }

func attach() {
	watchdog = C.watchdog_attach(C.WATCHDOG_LIFECYCLE)
	// Go has its own copy of the environment, which the programs that it starts get.
	for _, name := range []string{"WATCHDOG_CHANNEL", "WATCHDOG_STATE", "WATCHDOG_EVENT", "WATCHDOG_FAULTS"} {
		os.Unsetenv(name)
	}
	C.watchdog_on_state(watchdog, (*[0]byte)(C.enterState), nil)
	C.watchdog_on_event(watchdog, (*[0]byte)(C.handleEvent), nil)
	C.watchdog_on_background_time(watchdog, (*[0]byte)(C.takeBackgroundTime), nil)
	C.watchdog_on_expire(watchdog, (*[0]byte)(C.expire), nil)
	C.watchdog_on_disconnected(watchdog, (*[0]byte)(C.goOnAlone), nil)
}

// withText calls a function with a text for C, which the library copies.
func withText(text string, call func(*C.char)) {
	copied := C.CString(text)
	defer C.free(unsafe.Pointer(copied))
	call(copied)
}

// save is work that is not finished when the app goes to the background.
func save() {
	withText("save", func(name *C.char) { saveTask = C.watchdog_begin_task(watchdog, name) })
	time.Sleep(saveDuration)
	C.watchdog_end_task(watchdog, saveTask)
	fmt.Printf("service: saved %d\n", count)
}

//export enterState
func enterState(watchdog *C.struct_watchdog, state C.int, id C.uint64_t, context unsafe.Pointer) C.int {
	if state != C.WATCHDOG_BACKGROUND {
		fmt.Println("service: foreground")
		return C.WATCHDOG_DONE
	}
	fmt.Println("service: background")
	save()
	return C.WATCHDOG_DONE
}

//export handleEvent
func handleEvent(
	watchdog *C.struct_watchdog, kind, payload *C.const_char, id C.uint64_t, context unsafe.Pointer,
) C.int {
	fmt.Printf("service: event %d: %s (%s)\n", id, C.GoString(kind), C.GoString(payload))
	// `watchdogd conformance` requests this, to check that nothing answers pings meanwhile.
	if C.GoString(kind) == "conformance-block" {
		milliseconds, _ := strconv.Atoi(C.GoString(payload))
		time.Sleep(time.Duration(milliseconds) * time.Millisecond)
	}
	return C.WATCHDOG_DONE
}

//export takeBackgroundTime
func takeBackgroundTime(watchdog *C.struct_watchdog, microseconds C.int64_t, context unsafe.Pointer) {
	fmt.Printf("service: %d ms in the background\n", microseconds/1000)
}

//export expire
func expire(watchdog *C.struct_watchdog, context unsafe.Pointer) {
	C.watchdog_end_task(watchdog, saveTask)
	fmt.Println("service: the time is over")
}

//export goOnAlone
func goOnAlone(watchdog *C.struct_watchdog, context unsafe.Pointer) {
	fmt.Println("service: the supervisor is gone")
}

func completeLaunch() {
	withText("warm up", func(task *C.char) {
		C.watchdog_begin_launch_task(watchdog, task)
		C.watchdog_first_frame(watchdog)
		C.watchdog_ready(watchdog)
		C.watchdog_end_launch_task(watchdog, task)
		C.watchdog_useful(watchdog)
	})
}

func countOn() {
	count++
	withText(fmt.Sprintf("counted to %d", count), func(text *C.char) {
		C.watchdog_status(watchdog, text)
		C.watchdog_summary(watchdog, text)
	})
}

// await tells the main loop that a message has arrived, once for each time that the loop has served the watchdog. It
// only waits, and reads nothing.
func await(descriptor C.int, served <-chan struct{}, arrived chan<- struct{}) {
	for range served {
		C.poll(&C.struct_pollfd{fd: descriptor, events: C.POLLIN}, 1, -1)
		arrived <- struct{}{}
	}
}

// timeout is when to serve the watchdog even if nothing has arrived; never, if it is nil.
func timeout() <-chan time.Time {
	milliseconds := C.watchdog_timeout_ms(watchdog)
	if milliseconds < 0 {
		return nil
	}
	return time.After(time.Duration(milliseconds) * time.Millisecond)
}

func run(terminations <-chan os.Signal) {
	served, arrived := make(chan struct{}, 1), make(chan struct{})
	go await(C.watchdog_descriptor(watchdog), served, arrived)
	isAwaited := false
	ticker := time.NewTicker(countInterval)
	defer ticker.Stop()
	for C.watchdog_service(watchdog) == 0 {
		// Without a supervisor, and after it is gone, no message arrives.
		if !isAwaited && C.watchdog_descriptor(watchdog) >= 0 {
			served <- struct{}{}
			isAwaited = true
		}
		select {
		case <-arrived:
			isAwaited = false
		case <-timeout():
		case <-ticker.C:
			if C.watchdog_state(watchdog) == C.WATCHDOG_FOREGROUND {
				countOn()
			}
		case <-terminations:
			return
		}
	}
}

func main() {
	attach()
	defer C.watchdog_detach(watchdog)
	// SIGTERM accompanies the request to exit; systemd and shells send only SIGTERM.
	terminations := make(chan os.Signal, 1)
	signal.Notify(terminations, syscall.SIGTERM, syscall.SIGINT)
	if event := C.watchdog_launch_event(watchdog); event != nil {
		fmt.Printf("service: launched for %s\n", C.GoString(event))
	}
	completeLaunch()
	run(terminations)
	C.watchdog_stopping(watchdog)
	fmt.Println("service: ends")
}
