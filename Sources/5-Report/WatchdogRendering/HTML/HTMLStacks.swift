// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogReport
import WatchdogVerdict

/// The threads on a page: the faulting one open, the others folded, with identical ones grouped.
enum HTMLStacks {
    static func faulting(_ report: Report, _ left: inout Int, _ page: inout Markup) {
        page.raw("<section aria-labelledby=\"stack\">\n<h2 id=\"stack\">")
        guard let faulting = report.faultingStack else {
            page.raw("Stack</h2>\n<p class=\"quiet\">The report names no faulting thread.</p>\n</section>\n")
            return
        }
        page.text(faulting.title)
        page.raw("</h2>\n")
        state(faulting, &page)
        stack(faulting, &left, &page)
        legend(faulting, &page)
        page.raw("</section>\n")
    }

    static func others(_ report: Report, _ explanation: Explanation, _ left: inout Int, _ page: inout Markup) {
        let stacks = report.stacks.filter { !$0.isFaulting }
        guard !stacks.isEmpty else { return }
        page.raw("<section aria-labelledby=\"others\">\n<h2 id=\"others\">")
        page.text(stacks.count.counted("other thread"))
        page.raw("</h2>\n")
        let waits = report.body.linux?.waits ?? []
        let named = Set(waits.compactMap(\.holder?.thread) + (report.body.linux?.findings ?? []).compactMap(\.thread))
        let important = Set(
            explanation.others.map(\.index) + stacks.filter { $0.id.map(named.contains) == true }.map(\.index))
        for group in StackGroup.groups(of: stacks) {
            guard left > 0 else {
                page.element("p", "More threads are left out; the report's text has them all.", class: "quiet")
                break
            }
            // Open the threads that the explanation mentions.
            page.raw("<details")
            if group.all.contains(where: { important.contains($0.index) }) { page.raw(" open") }
            page.raw("><summary><span class=\"thread\">")
            page.text(title(group))
            page.raw("</span> <span class=\"quiet\">")
            page.text(group.typical.activity + (group.wokenCount > 0 ? ", \(group.wokenCount) just woken" : ""))
            page.raw("</span></summary>\n")
            // Anchors are inside, so that following a link unfolds them.
            for stack in group.all {
                page.tag("span", ["id": "thread-\(stack.index)"])
                page.raw("</span>")
            }
            state(group.typical, &page)
            stack(group.first, &left, &page)
            page.raw("</details>\n")
        }
        page.raw("</section>\n")
    }

    /// The goroutines of a Go program, each folded, but the one that runs `main` and the one that is the cause open.
    static func goroutines(_ report: Report, _ left: inout Int, _ page: inout Markup) {
        guard let goroutines = report.body.linux?.goroutines, !goroutines.shown.isEmpty else { return }
        page.raw("<section aria-labelledby=\"goroutines\">\n<h2 id=\"goroutines\">Goroutines</h2>\n")
        page.element("p", goroutines.summary, class: "quiet")
        let cause = report.decidingGoroutine?.goroutine.id
        for (goroutine, stack) in goroutines.stacks(report.body) {
            guard left > 0 else { break }
            page.raw([1, cause].contains(goroutine.id) ? "<details open>" : "<details>")
            page.raw("<summary><span class=\"thread\">")
            page.text(goroutine.title)
            page.raw("</span> <span class=\"quiet\">")
            page.text(goroutine.thread.map { "on thread \($0)" } ?? stack.named.first?.place ?? "")
            page.raw("</span></summary>\n")
            self.stack(stack, anchor: "goroutine-\(goroutine.id)", &left, &page)
            page.raw("</details>\n")
        }
        page.raw("</section>\n")
    }

    /// The app's other processes, each folded, with its threads.
    static func processes(_ report: Report, _ left: inout Int, _ page: inout Markup) {
        let processes = report.body.linux?.processes ?? []
        let title = processes.count.counted("other process", "other processes")
        let waiting = Set(report.body.linux?.waitingProcesses.map(\.pid) ?? [])
        section("processes", title, processes, opening: waiting, &left, &page)
        // Those to which the wait leads are few, and the reason to look at the page.
        let strangers = report.body.linux?.trailProcesses ?? []
        section(
            "trail", "Processes of others, in the chain of waits", strangers, opening: Set(strangers.map(\.pid)), &left,
            &page)
    }

    private static func section(
        _ anchor: StaticString, _ heading: String, _ processes: [ProcessDetails], opening waiting: Set<Int>,
        _ left: inout Int, _ page: inout Markup
    ) {
        guard !processes.isEmpty else { return }
        page.raw("<section aria-labelledby=\"")
        page.raw(anchor)
        page.raw("\">\n<h2 id=\"")
        page.raw(anchor)
        page.raw("\">")
        page.text(heading)
        page.raw("</h2>\n")
        for process in processes {
            // Open the processes that the main thread waits for.
            page.raw(waiting.contains(process.pid) ? "<details open>" : "<details>")
            page.raw("<summary><span class=\"thread\">")
            page.text(process.title)
            page.raw("</span> <span class=\"quiet\">")
            page.text(process.waitText.map { "waits: \($0)" } ?? process.stacks.first?.activity ?? "no stack")
            page.raw("</span></summary>\n")
            // The anchor is inside, so that following a link unfolds the process.
            page.tag("span", ["id": "process-\(process.pid)"])
            page.raw("</span>")
            let facts = [
                "child of \(process.parentPid)", "state \(process.state)",
                process.command.isEmpty ? nil : process.command, process.failure.map { "no stacks: \($0)" },
            ]
            page.element("p", facts.compactMap(\.self).joined(separator: " · "), class: "quiet")
            for group in StackGroup.groups(of: process.stacks) {
                guard left > 0 else { break }
                page.element("h3", title(group))
                state(group.typical, &page)
                stack(group.first, &left, &page)
            }
            page.raw("</details>\n")
        }
        page.raw("</section>\n")
    }

    private static func title(_ group: StackGroup) -> String {
        guard group.count > 1 else { return group.first.title }
        let numbers = group.all.prefix(12).map { String($0.index) }.joined(separator: ", ")
        let rest = group.count > 12 ? ", ..." : ""
        let isOneName = group.others.allSatisfy { $0.name == group.first.name }
        let name = isOneName ? group.first.name.map { " (\($0))" } ?? "" : ""
        return "\(group.count) threads alike: \(numbers)\(rest)\(name)"
    }

    /// Shows what the kernel says about a thread.
    private static func state(_ stack: ReportStack, _ page: inout Markup) {
        guard let details = stack.details else { return }
        func seconds(_ value: UInt64) -> String {
            Duration.nanoseconds(Int64(clamping: value)).seconds(fractionDigits: 3) + " s"
        }
        let parts = [
            stack.id.map { "tid \($0)" }, "state \(details.state)", stack.systemCall?.name.map { "in \($0)" },
            details.waitChannel.flatMap { $0.isEmpty || $0 == "0" ? nil : "kernel at \($0)" },
            "\(seconds(details.runNanoseconds)) on a CPU since it began",
        ]
        page.element("p", parts.compactMap(\.self).joined(separator: " · "), class: "quiet")
    }

    /// Thread IDs are unique over all processes of a report.
    private static func anchor(_ stack: ReportStack) -> String { stack.id.map(String.init) ?? "n\(stack.index)" }

    private static func stack(
        _ stack: ReportStack, anchor name: String? = nil, _ left: inout Int, _ page: inout Markup
    ) {
        guard !stack.calls.isEmpty else {
            page.raw("<p class=\"quiet\">No stack.</p>\n")
            return
        }
        let anchor = name ?? anchor(stack)
        page.tag("button", ["type": "button", "data-copy": "calls-\(anchor)", "hidden": ""])
        page.raw("Copy stack</button>\n")
        let style = stack.calls.contains { $0.source != nil } ? "stack" : "stack nosource"
        page.tag("ol", ["class": style, "id": "calls-\(anchor)"])
        for call in stack.calls.prefix(max(0, left)) { row(call, &page) }
        page.raw("</ol>\n")
        if stack.calls.count > left { page.element("p", "\(stack.calls.count - left) more calls", class: "quiet") }
        left -= stack.calls.count
    }

    private static func row(_ call: CallSite, _ page: inout Markup) {
        page.begin("li", class: "\(call.origin.rawValue) trust-\(call.trust?.rawValue ?? "foreign")")
        page.element("span", String(call.number), class: "number")
        page.raw("<span class=\"call\">")
        page.element("code", call.name)
        if call.isInlined { page.raw("<span class=\"mark\">inlined</span>") }
        switch call.trust {
        case .scan: page.raw("<span class=\"mark doubt\">found by scanning, may be stale</span>")
        case .asynchronous: page.raw("<span class=\"mark\">async caller</span>")
        case .outerEnd: page.raw("<span class=\"mark\">at the outer end; calls before are left out</span>")
        case .prologue, .framePointer: page.raw("<span class=\"mark\">by frame layout</span>")
        case .registers, .cfi, .interpreter, nil: break
        }
        if let language = call.language { page.element("span", language, class: "mark") }
        page.raw("</span><span class=\"where\">")
        page.element("span", call.source ?? "", class: "source")
        page.element("span", call.image, class: "image")
        page.element("span", call.address.hexadecimal(), class: "address")
        page.raw("</span>")
        page.close("li")
    }

    private static func legend(_ stack: ReportStack, _ page: inout Markup) {
        guard !stack.calls.isEmpty else { return }
        let own = stack.calls.count { $0.origin == .application }
        page.element(
            "p", "\(own) of \(stack.calls.count) calls are the app's own code (marked); innermost first.",
            class: "quiet")
    }
}
