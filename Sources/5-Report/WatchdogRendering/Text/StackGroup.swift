// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogReport
import WatchdogVerdict

/// Threads of one process with the same calls and state; one stack stands for all of them.
struct StackGroup {
    /// The first of them in the report.
    let first: ReportStack
    /// The others, in the order of the report.
    private(set) var others: [ReportStack] = []

    var all: [ReportStack] { [first] + others }
    var count: Int { 1 + others.count }

    /// How many have just been woken where the others sleep.
    var wokenCount: Int {
        let runnable = all.count { $0.details?.state == "R" }
        return runnable == count ? 0 : runnable
    }

    /// The thread whose state holds for all that have not just been woken.
    var typical: ReportStack { all.first { $0.details?.state != "R" } ?? first }

    /// What a thread does in the kernel.
    private struct Activity: Hashable {
        let state: String
        let call: String

        init(of stack: ReportStack) {
            state = stack.details?.state ?? ""
            call = stack.systemCall?.name ?? ""
        }
    }

    private struct Key: Hashable {
        let activity: Activity
        let calls: [String]

        /// A call is the same at another address of the same line.
        init(_ activity: Activity, _ stack: ReportStack) {
            self.activity = activity
            calls = stack.calls.map { call in
                call.function == nil ? "\(call.name) \(call.imageOffset)" : "\(call.name) \(call.source ?? "")"
            }
        }
    }

    /// Groups the threads of one process, in the order of each group's first thread.
    static func groups(of stacks: [ReportStack]) -> [StackGroup] {
        // A thread that has just been woken is runnable and in no system call, but still at the instruction where the
        // others sleep: threads that wait for an interpreter's lock wake up every few milliseconds.
        var sleeping: [UInt64: Activity] = [:]
        for stack in stacks where stack.details?.state == "S" && stack.systemCall != nil {
            if let address = stack.calls.first?.address, sleeping[address] == nil {
                sleeping[address] = Activity(of: stack)
            }
        }
        var places: [Key: Int] = [:]
        var groups: [StackGroup] = []
        for stack in stacks {
            let isWoken = stack.details?.state == "R" && stack.systemCall == nil
            let activity = isWoken ? stack.calls.first.flatMap { sleeping[$0.address] } : nil
            let key = Key(activity ?? Activity(of: stack), stack)
            if let place = places[key] {
                groups[place].others.append(stack)
            } else {
                places[key] = groups.count
                groups.append(StackGroup(first: stack))
            }
        }
        return groups
    }

    /// How many runs of numbers a line lists.
    private static let runsPerLine = 12

    /// `Threads 3–8: same stack as thread 2`, with names if they differ; nothing for a single thread.
    var repetition: [String] {
        let isNamed = others.contains { $0.name != first.name }
        var runs: [(numbers: ClosedRange<Int>, name: String?)] = []
        for stack in others {
            if let last = runs.last, last.numbers.upperBound + 1 == stack.index, last.name == stack.name {
                runs[runs.count - 1].numbers = last.numbers.lowerBound...stack.index
            } else {
                runs.append((stack.index...stack.index, stack.name))
            }
        }
        return stride(from: 0, to: runs.count, by: Self.runsPerLine).map { start in
            let part = runs[start..<min(start + Self.runsPerLine, runs.count)]
            let words = part.map { numbers, name in
                let (first, last) = (numbers.lowerBound, numbers.upperBound)
                let range = first == last ? "\(first)" : "\(first)–\(last)"
                return isNamed ? range + (name.map { " (\($0.singleLine(limit: 32)))" } ?? "") : range
            }
            let isOne = part.reduce(0) { $0 + $1.numbers.count } == 1
            let title = "Thread\(isOne ? "" : "s") \(words.joined(separator: ", "))"
            return "\(title): same stack as thread \(first.index)"
        }
    }
}
