// SPDX-License-Identifier: Apache-2.0

import Glibc

// Here and in the other hangs, every function uses the result of the one it calls: a tail call would remove its frame
// from the stack.

@inline(never)
func refreshTimeline() {
    let posts = loadPosts()
    print("HangMain: \(posts) posts")
}

@inline(never)
func loadPosts() -> Int {
    let pages = waitForServer()
    return pages * 20
}

@inline(never)
func waitForServer() -> Int {
    var attempts = 0
    while attempts >= 0 {
        sleep(3600)
        attempts += 1
    }
    return attempts
}
