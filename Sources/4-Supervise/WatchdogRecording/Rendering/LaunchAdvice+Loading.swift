// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogRendering

extension LaunchAdvice {
    /// What loading the program and its libraries took.
    static func loading(_ figures: LaunchFigures) -> [LaunchAdvice] {
        [
            constructors(.libraryConstructors, figures), constructors(.ownConstructors, figures), linking(figures),
            unused(figures), late(figures), wrappers(figures),
        ].compactMap(\.self)
    }

    /// What the phases took without waiting for a CPU, which other programs caused, and without the recorder's stops.
    private static func time(_ kinds: [LaunchPhase.Kind], _ figures: LaunchFigures) -> Duration {
        figures.recording.phases.filter { kinds.contains($0.kind) }.reduce(.zero) {
            $0 + max(.zero, $1.ownWall - ($1.time?.waiting ?? .zero))
        }
    }

    private static func wrappers(_ figures: LaunchFigures) -> LaunchAdvice? {
        let time = time([.request], figures)
        let wrappers = figures.recording.program.executables.dropLast()
        guard matters(time, figures), let first = wrappers.first else { return nil }
        let count = wrappers.count == 1 ? first : "\(wrappers.count) files, the first of them \(first)"
        return LaunchAdvice(
            kind: .wrappers, time: time,
            sentence:
                "\(share(time, figures)) passed before \(figures.name.singleLine(limit: 64)) was executed, through "
                + "\(count.singleLine(limit: 200)): start it directly.")
    }

    private static func constructors(_ kind: LaunchPhase.Kind, _ figures: LaunchFigures) -> LaunchAdvice? {
        let time = time([kind], figures)
        guard matters(time, figures) else { return nil }
        let isOwn = kind == .ownConstructors
        let slow = slowConstructors(isOwn: isOwn, figures)
        let remedy =
            isOwn
            ? "create globals when they are first used."
            : "do that work at the first use, or do without the library."
        let all = isOwn ? "the program's own constructors" : "constructors of libraries"
        let advice: String
        if let first = slow.first, first.ownTime * 2 >= time {
            let more = "; all \(all) ran \(time.brief)"
            advice =
                "The constructor \(first.words) took \(share(first.ownTime, figures)) before main"
                + (time - first.ownTime >= leastTime ? more : "")
        } else {
            let names = slow.map { "\($0.words) (\($0.ownTime.brief))" }.joined(separator: ", ")
            advice =
                all.capitalizingFirst + " ran \(share(time, figures)) before main"
                + (names.isEmpty ? "" : ", most in \(names)")
        }
        return LaunchAdvice(
            kind: isOwn ? .ownConstructors : .libraryConstructors, time: time, sentence: "\(advice): \(remedy)")
    }

    /// The constructors to name: the slowest that took long enough to matter; none without their times.
    private static func slowConstructors(isOwn: Bool, _ figures: LaunchFigures) -> [LaunchConstructor] {
        let all = figures.constructorsByTime.filter { $0.isOwn == isOwn && $0.ownTime >= leastTime }
        return Array(all.sorted { ($1.ownTime, $0.begin) < ($0.ownTime, $1.begin) }.prefix(3))
    }

    private static func linking(_ figures: LaunchFigures) -> LaunchAdvice? {
        let time = time([.mapping, .relocation], figures)
        guard matters(time, figures) else { return nil }
        let objects = figures.recording.objects.filter { !$0.isLate }
        let most = objects.map { (name: $0.name, time: ($0.mapping ?? .zero) + ($0.relocation ?? .zero)) }
            .sorted { ($1.time, $0.name) < ($0.time, $1.name) }.prefix(3).filter { $0.time > .zero }
        let names = most.map { "\($0.name.singleLine(limit: 64)) (\($0.time.brief))" }.joined(separator: ", ")
        let count = objects.count.counted("library", "libraries")
        return LaunchAdvice(
            kind: .linking, time: time,
            sentence: "Mapping and relocating \(objects.isEmpty ? "libraries" : count) took \(share(time, figures))"
                + (names.isEmpty ? "" : ", most for \(names)")
                + ": link fewer, link them statically, or load them when they are needed.")
    }

    private static func unused(_ figures: LaunchFigures) -> LaunchAdvice? {
        guard let samples = figures.recording.samples, samples.count >= enoughSamples else { return nil }
        let objects = figures.objectsByCost.filter {
            $0.isUsed == false && $0.cost > .zero && $0.mapped < figures.length
        }
        let time = objects.reduce(Duration.zero) { $0 + $1.cost }
        guard matters(time, figures) else { return nil }
        let names = objects.prefix(3).map { "\($0.name.singleLine(limit: 64)) (\($0.cost.brief))" }
        let more = objects.count > 3 ? " and \(objects.count - 3) more" : ""
        return LaunchAdvice(
            kind: .unusedLibraries, time: time,
            sentence: "\(names.joined(separator: ", "))\(more) took \(share(time, figures)) to load and "
                + "\(objects.count == 1 ? "is" : "are") in none of \(samples.count) samples of the main "
                + "thread: load \(objects.count == 1 ? "it" : "them") when needed, or do not link \(objects.count == 1 ? "it" : "them")."
        )
    }

    private static func late(_ figures: LaunchFigures) -> LaunchAdvice? {
        let objects = figures.objectsByCost.filter { $0.isLate && $0.mapped < figures.length }
        let time = objects.reduce(Duration.zero) { $0 + $1.cost }
        guard matters(time, figures), let first = objects.first else { return nil }
        return LaunchAdvice(
            kind: .lateLibraries, time: time,
            sentence:
                "The program loaded \(objects.count.counted("file")) with code after main had "
                + "begun and before \(figures.recording.end.moment), which took \(share(time, figures)), most for "
                + "\(first.name.singleLine(limit: 64)) (\(first.cost.brief)): load later what is not needed yet.")
    }

    /// The main thread's own work that could come later.
    static func work(_ figures: LaunchFigures) -> [LaunchAdvice] {
        let recording = figures.recording
        guard let samples = recording.samples, samples.count >= enoughSamples,
            recording.end.kind != .exit, let call = heaviest(samples)
        else { return [] }
        let time = min(samples.interval * max(0, call.count), figures.length)
        guard matters(time, figures) else { return [] }
        return [
            LaunchAdvice(
                kind: .work, time: time,
                sentence:
                    "\(call.function.singleLine(limit: 100)) is in \(call.count) of \(samples.count) samples of the main "
                    + "thread, about \(share(time, figures)): if the launch "
                    + "does not need it, do it afterwards, or on another thread.")
        ]
    }

    /// The innermost call that has at least a quarter of all samples, and is not the program's entry.
    private static func heaviest(_ samples: SampledCalls) -> SampledCalls.Call? {
        let entries: Set<String> = [
            "main", "_start", "__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main",
        ]
        return samples.heaviestPath.last {
            samples.tenths(of: $0) >= 250 && !entries.contains($0.function) && $0.hasName
        }
    }
}

extension LaunchConstructor {
    /// The function and its file: `init_logger of liblog.so`.
    fileprivate var words: String { "\(title.singleLine(limit: 100)) of \(file.singleLine(limit: 64))" }
}
