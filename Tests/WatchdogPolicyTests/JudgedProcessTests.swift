// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogPolicy

@Suite("Whose main thread is judged")
struct JudgedProcessTests {
    private let main: Int32 = 10
    private let child: Int32 = 11

    @Test("that of another process that answers", arguments: [true, false])
    func answer(_ isAnswer: Bool) {
        var judged = JudgedProcess()
        #expect(judged.passes(to: child, main: main, judged: main) { isAnswer } == isAnswer)
    }

    @Test("not that of an unknown process")
    func unknown() {
        var judged = JudgedProcess()
        #expect(judged.passes(to: 0, main: main, judged: main) { true } == false)
    }

    @Test("that of the first one that answers, until it ends")
    func first() {
        var judged = JudgedProcess()
        #expect(judged.passes(to: child, main: main, judged: main) { true } == true)
        #expect(judged.passes(to: 12, main: main, judged: child) { true } == false)
        #expect(judged.passes(to: 12, main: main, judged: main) { true } == true)
    }

    @Test("that of the main process for good once it has sent anything", arguments: [true, false])
    func mainSpeaks(_ isAnswer: Bool) {
        var judged = JudgedProcess()
        #expect(judged.passes(to: main, main: main, judged: main) { isAnswer } == false)
        #expect(judged.passes(to: child, main: main, judged: main) { true } == false)
    }

    @Test("that of the other one, even if the main process speaks later, but of none after it")
    func mainSpeaksLater() {
        var judged = JudgedProcess()
        #expect(judged.passes(to: child, main: main, judged: main) { true } == true)
        #expect(judged.passes(to: main, main: main, judged: child) { true } == false)
        #expect(judged.passes(to: 12, main: main, judged: main) { true } == false)
    }

    @Test("messages are read only if they matter")
    func unread() {
        var judged = JudgedProcess()
        var reads = 0
        for sender in [0, main, child] {
            let isJudged = judged.passes(to: sender, main: main, judged: main) {
                reads += 1
                return true
            }
            #expect(!isJudged)
        }
        #expect(reads == 0)
    }
}
