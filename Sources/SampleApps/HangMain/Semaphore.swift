// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

@inline(never)
func openDocument() {
    let lines = readContents()
    print("HangMain: \(lines) lines")
}

@inline(never)
func readContents() -> Int {
    let bytes = waitForDownload()
    return bytes / 80
}

@inline(never)
func waitForDownload() -> Int {
    let finished = DispatchSemaphore(value: 0)
    startThread(named: "downloader") {
        download()
        finished.signal()
    }
    finished.wait()
    return 4000
}

/// Waits for data that never comes.
@inline(never)
private func download() {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { giveUp("cannot make a pipe") }
    var byte: UInt8 = 0
    read(ends[0], &byte, 1)
}
