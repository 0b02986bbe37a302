// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy

@Suite("The syntax of faults")
struct FaultParsingTests {
    @Test(
        "a fault survives parsing and printing",
        arguments: [
            "stop 2s at ready", "stop 250ms at ready+2s", "stop 1s at launch+1min 30s", "cpu 4 at launch",
            "cpu 1 at ready+500ms for 3s", "cpu-quota 20%", "cpu-quota 10000%", "memory 64M", "memory 1G",
            "memory 1025", "disk-full /var/lib/app at ready", "disk-full /tmp at launch+2s for 5s",
            "main-hang 5s at ready+2s", "io-slow 1M at launch", "io-slow 512K at ready for 3s", "network 3g at launch",
            "network loss 20% at ready", "network dns-delay 5s at launch for 10s", "network cut 3s at ready",
            "clock +1h", "kill-watchdogd at ready+2s",
        ])
    func roundTrip(text: String) throws {
        #expect(try Fault(parsing: text).description == text)
    }

    @Test("short forms equal their long forms")
    func shortForms() throws {
        #expect(try Fault(parsing: "stop 2s") == Fault(.stop, at: .init(.ready), for: .seconds(2)))
        #expect(try Fault(parsing: " stop  for 2s at +5s") == Fault(parsing: "stop 2s at launch+5s"))
        #expect(try Fault(parsing: "cpu 4") == Fault(.cpu(processes: 4), at: .init(.launch)))
        #expect(try Fault(parsing: "cpu 4 for 3s at ready + 1s") == Fault(parsing: "cpu 4 at ready+1s for 3s"))
        #expect(try Fault(parsing: "disk-full /tmp") == Fault(.diskFull("/tmp"), at: .init(.ready)))
        #expect(try Fault(parsing: "main-hang 5s") == Fault(.mainHang, at: .init(.ready), for: .seconds(5)))
        #expect(try Fault(parsing: "main-hang for 5s") == Fault(parsing: "main-hang 5s"))
        #expect(try Fault(parsing: "io-slow") == Fault(.ioSlow(bytesPerSecond: 1 << 20), at: .init(.launch)))
        #expect(try Fault(parsing: "network 3g") == Fault(.network(.profile("3g")), at: .init(.launch)))
        #expect(try Fault(parsing: "network cut for 3s at +1s") == Fault(parsing: "network cut 3s at launch+1s"))
        #expect(try Fault(parsing: "clock + 1h").kind == .clock(ahead: .seconds(3_600)))
        #expect(try Fault(parsing: "kill-watchdogd") == Fault(.killWatchdogd, at: .init(.ready)))
        #expect(try Fault(parsing: "memory 65536K") == Fault(.memory(64 << 20), at: .init(.launch)))
    }

    @Test(
        "an invalid fault is rejected with a hint",
        arguments: [
            ("", "use stop, main-hang, cpu, cpu-quota, memory, io-slow, disk-full, network"),
            ("memroy 64M", "did you mean memory?"), ("earthquake", "use stop, main-hang, cpu"),
            ("stop", "stop 2s"), ("stop 2", "2s"), ("stop 0s", "at least 1 ms"),
            ("stop 2s for 3s", "one length"), ("stop 2s at", "is not a moment"), ("stop 2s at dawn", "at ready+2s"),
            ("stop 2s at ready+", "time span"), ("stop 2s at ready at launch", "twice"), ("cpu", "cpu 4"),
            ("cpu 0", "1 to 1024"), ("cpu 1025", "1 to 1024"), ("cpu 4 for", "time span"), ("cpu-quota 20", "20%"),
            ("cpu-quota 0%", "from 1%"), ("cpu-quota 20% at ready", "leave out \"at\""), ("memory", "memory 64M"),
            ("memory 0", "memory 64M"), ("memory 64T", "memory 64M"), ("memory 18446744073709551615G", "memory 64M"),
            ("memory 64M for 2s", "leave out \"for\""), ("disk-full", "disk-full /var/lib/app"),
            ("disk-full data", "absolute path"), ("disk-full /", "absolute path"), ("disk-full /a b", "without blanks"),
            ("disk-full /a\tb", "without blanks"), ("main-hang", "main-hang 2s"), ("main-hang 2s for 2s", "one length"),
            ("io-slow fast", "io-slow 64M"), ("network", "network 3g"), ("network 3g 4g", "network 3g"),
            ("network loss 20", "20%"), ("network loss 101%", "1% to 100%"), ("network dns-delay", "time span"),
            ("network cut", "network cut 2s"), ("clock 1h", "clock +1h"), ("clock -1h", "can only be ahead"),
            ("clock +1h at ready", "leave out \"at\""), ("kill-watchdogd 3s", "no value"),
        ])
    func refused(text: String, words: String) {
        let error = #expect(throws: Fault.SyntaxError.self) { try Fault(parsing: text) }
        #expect(error?.description.contains(words) == true, "\(String(describing: error))")
    }
}

@Suite("When faults begin and end")
struct FaultScheduleTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    private func schedule(_ texts: String...) throws -> FaultSchedule {
        FaultSchedule(try texts.map { try Fault(parsing: $0) })
    }

    @Test("a fault begins at its time, and not a nanosecond earlier")
    func begins() throws {
        var schedule = try schedule("stop 1s at ready+2s")
        schedule.reached(.launch, at: start)
        #expect(schedule.next == nil)
        schedule.reached(.ready, at: start)
        let due = start + .seconds(2)
        #expect(schedule.next == due)
        #expect(schedule.steps(at: due - .nanoseconds(1)) == [])
        #expect(schedule.steps(at: due) == [.begin(0)])
        #expect(schedule.steps(at: due) == [])
    }

    @Test("a fault lasts for its duration from its start, and not a nanosecond less")
    func ends() throws {
        var schedule = try schedule("stop 1s at launch")
        schedule.reached(.launch, at: start)
        let late = start + .seconds(7)
        #expect(schedule.steps(at: late) == [.begin(0)])
        #expect(schedule.next == late + .seconds(1))
        #expect(schedule.steps(at: late + .seconds(1) - .nanoseconds(1)) == [])
        #expect(schedule.steps(at: late + .seconds(1)) == [.end(0)])
        #expect(schedule.next == nil)
        #expect(schedule.end() == [])
    }

    @Test("a fault without a duration ends with the app, and one that has not begun never begins")
    func endsWithApp() throws {
        var schedule = try schedule("cpu 2", "stop 1s at ready")
        schedule.reached(.launch, at: start)
        #expect(schedule.steps(at: start) == [.begin(0)])
        #expect(schedule.next == nil)
        #expect(schedule.end() == [.end(0)])
        schedule.reached(.ready, at: start)
        #expect(schedule.steps(at: start + .seconds(100)) == [])
    }

    @Test("an added fault begins immediately, and its duration counts from then")
    func added() throws {
        var schedule = try schedule("cpu 1 at ready")
        schedule.reached(.launch, at: start)
        schedule.add(try Fault(parsing: "stop 1s at ready+1h"), at: start + .seconds(2))
        #expect(schedule.next == start + .seconds(2))
        #expect(schedule.steps(at: start + .seconds(2)) == [.begin(1)])
        #expect(schedule.steps(at: start + .seconds(3) - .nanoseconds(1)) == [])
        #expect(schedule.steps(at: start + .seconds(3)) == [.end(1)])
        #expect(schedule.faults.count == 2)
    }

    @Test("faults begin in order of their times, and only the first ready counts")
    func order() throws {
        var schedule = try schedule("cpu 1 at +3s for 1s", "stop 1s at +2s", "cpu 2 at +2s")
        schedule.reached(.launch, at: start)
        schedule.reached(.launch, at: start + .seconds(9))
        #expect(schedule.next == start + .seconds(2))
        #expect(schedule.steps(at: start + .seconds(3)) == [.begin(1), .begin(2), .begin(0)])
        #expect(schedule.steps(at: start + .seconds(4)) == [.end(0), .end(1)])
        #expect(schedule.end() == [.end(2)])
    }
}
