// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy

/// Parses the lines of a ``LifecycleScript``.
struct ScriptReader {
    /// A word of a line, with its place.
    struct Word {
        let text: String
        let position: SourcePosition
        var length: Int { max(1, text.utf8.count) }
    }

    private enum Name: String, CaseIterable {
        case launch
        case wait
        case event
        case foreground
        case background
        case suspend
        case resume
        case fault
        case terminate
        case sleep
        case expect
    }

    private static let conditions =
        ["ready", "alive", "killed", "reported", "exited"] + states.map(\.rawValue)
    private static let states: [LifecycleState] = [
        .launching, .foreground, .inactive, .background, .suspended, .terminating,
    ]
    /// The maximum lengths of an event's kind and payload, as in `Wire.Limit`, which this module does not import.
    private static let kindLimit = 64
    private static let payloadLimit = 2_048

    private(set) var diagnostics: DiagnosticCollector
    private let file: SourceFile
    private let isComplete: Bool

    init(_ file: ConfigurationFile) {
        self.file = SourceFile(file)
        diagnostics = DiagnosticCollector(files: [self.file])
        isComplete = file.contents.count <= LifecycleScript.maximumLength
    }

    mutating func steps() -> [LifecycleScript.Step] {
        guard isComplete else {
            diagnostics.report(
                .error, file: 0, "the script is longer than \(LifecycleScript.maximumLength >> 10) KiB")
            return []
        }
        var steps: [LifecycleScript.Step] = []
        for index in file.lines.indices {
            guard let text = text(of: index) else { continue }
            var words = words(of: text, line: index)
            guard let first = words.first else { continue }
            words.removeFirst()
            guard let command = command(first, words, line: text) else { continue }
            if steps.isEmpty, !command.isLaunch {
                diagnostics.report(
                    .error, at: first.position, length: first.length, "a script begins with launch",
                    suggestion: "launch")
            } else if !steps.isEmpty, command.isLaunch {
                diagnostics.report(
                    .error, at: first.position, length: first.length, "the app is launched once, at the beginning")
            }
            steps.append(
                LifecycleScript.Step(line: index + 1, command: command, text: text.trimmed.singleLine()))
        }
        if steps.isEmpty, !diagnostics.hasErrors {
            diagnostics.report(.error, file: 0, "the script is empty; its first command is launch")
        }
        return steps
    }

    /// A line without its comment; nil if it is not UTF-8.
    private mutating func text(of index: Int) -> String? {
        let bytes = file.bytes[file.lines[index]]
        guard let text = String(validating: bytes, as: UTF8.self) else {
            diagnostics.report(.error, at: SourcePosition(file: 0, line: index, byte: 0), "the line is not UTF-8")
            return nil
        }
        if let control = text.unicodeScalars.firstIndex(where: { !$0.isPrintable && $0 != "\t" }) {
            let offset = text.utf8.distance(from: text.startIndex, to: control)
            diagnostics.report(
                .error, at: SourcePosition(file: 0, line: index, byte: offset), "control characters have no place here")
            return nil
        }
        return text
    }

    /// A `#` at the start of a word starts a comment, except in the payload of an event.
    private func words(of text: String, line: Int) -> [Word] {
        var words: [Word] = []
        var offset = 0
        for part in text.utf8.split(omittingEmptySubsequences: false, whereSeparator: { $0 == 0x20 || $0 == 0x09 }) {
            defer { offset += part.count + 1 }
            guard let first = part.first else { continue }
            // The word before the kind of an event, whose payload is the rest of the line.
            let event = words.firstIndex { $0.text == Name.event.rawValue }
            let hasPayload = event.map { isEventWord($0, words) && words.count > $0 + 1 } ?? false
            if first == UInt8(ascii: "#"), !hasPayload { break }
            words.append(
                Word(
                    text: String(decoding: part, as: UTF8.self),
                    position: SourcePosition(file: 0, line: line, byte: offset)))
        }
        return words
    }

    /// Whether the word at an index is the command `event`, or the part of `launch` with that name.
    private func isEventWord(_ index: Int, _ words: [Word]) -> Bool {
        switch index {
        case 0: true
        case 1, 2: words[0].text == Name.launch.rawValue
        default: false
        }
    }

    // MARK: - Commands

    private mutating func command(_ word: Word, _ arguments: [Word], line: String) -> LifecycleScript.Command? {
        guard let name = Name(rawValue: word.text) else {
            fail(word, "unknown command \(word.text.quoted())", among: Name.allCases.map(\.rawValue))
            return nil
        }
        switch name {
        case .launch: return launch(arguments, line)
        case .wait: return wait(word, arguments)
        case .event: return event(word, arguments, line).map { .request($0.request) }
        case .foreground: return bare(.request(.foreground), arguments)
        case .background: return bare(.request(.background), arguments)
        case .suspend: return bare(.request(.suspend), arguments)
        case .resume: return bare(.request(.resume), arguments)
        case .fault: return fault(word, arguments)
        case .terminate: return bare(.terminate, arguments)
        case .sleep:
            guard !arguments.isEmpty else { return missing(word, "a time span, such as sleep 2s") }
            return span(arguments).map { .pass($0) }
        case .expect:
            var rest = arguments[...]
            if rest.first?.text == "state" { rest = rest.dropFirst() }
            guard let first = rest.first else { return missing(word, "what is expected, such as expect alive") }
            return condition(first, Array(rest.dropFirst())).map { .expect($0) }
        }
    }

    private mutating func bare(
        _ command: LifecycleScript.Command, _ arguments: [Word]
    ) -> LifecycleScript.Command? {
        guard let extra = arguments.first else { return command }
        fail(extra, "nothing is expected after the command")
        return nil
    }

    private mutating func launch(_ arguments: [Word], _ line: String) -> LifecycleScript.Command? {
        var rest = arguments[...]
        var isInBackground = false
        if let place = rest.first, place.text != Name.event.rawValue {
            guard ["foreground", "background"].contains(place.text) else {
                fail(place, "unknown place \(place.text.quoted())", among: ["foreground", "background", "event"])
                return nil
            }
            isInBackground = place.text == "background"
            rest = rest.dropFirst()
        }
        guard let word = rest.first, word.text == Name.event.rawValue else {
            return bare(.launch(inBackground: isInBackground), Array(rest))
        }
        return event(word, Array(rest.dropFirst()), line).map { .launch(inBackground: isInBackground, for: $0) }
    }

    private mutating func wait(_ word: Word, _ arguments: [Word]) -> LifecycleScript.Command? {
        guard let first = arguments.first else { return missing(word, "what to wait for, such as wait ready") }
        var rest = Array(arguments.dropFirst())
        var limit = LifecycleScript.patience
        if let within = rest.firstIndex(where: { $0.text == "within" }) {
            let spanWords = Array(rest[(within + 1)...])
            guard !spanWords.isEmpty else { return missing(rest[within], "a time span, such as within 5s") }
            guard let span = span(spanWords) else { return nil }
            limit = span
            rest = Array(rest[..<within])
        }
        return condition(first, rest).map { .wait($0, within: limit) }
    }

    private mutating func fault(_ word: Word, _ arguments: [Word]) -> LifecycleScript.Command? {
        guard let first = arguments.first else { return missing(word, "what goes wrong, such as fault stop 2s") }
        if let clause = arguments.first(where: { $0.text == "at" }) {
            fail(clause, "a fault in a script begins when the script reaches it; leave out \"at\"")
            return nil
        }
        do throws(Fault.SyntaxError) {
            let fault = try Fault(parsing: arguments.map(\.text).joined(separator: " "))
            guard !fault.kind.isLimit else {
                fail(first, "\(first.text) applies from the launch until the app exits; use run --fault")
                return nil
            }
            return .inject(fault)
        } catch {
            fail(first, error.description.singleLine())
            return nil
        }
    }

    private mutating func event(_ word: Word, _ arguments: [Word], _ line: String) -> LaunchingEvent? {
        guard let kind = arguments.first else {
            _ = missing(word, "the kind of the event, such as event url")
            return nil
        }
        guard kind.text.utf8.count <= Self.kindLimit else {
            fail(kind, "the kind of an event has at most \(Self.kindLimit) bytes")
            return nil
        }
        // The payload as it is written, including blanks inside.
        let payload = arguments.dropFirst().first.map { first in
            String(decoding: Array(line.utf8)[first.position.byte...], as: UTF8.self).trimmed
        }
        if let payload, payload.utf8.count > Self.payloadLimit {
            fail(arguments[1], "the payload of an event has at most \(Self.payloadLimit) bytes")
            return nil
        }
        return LaunchingEvent(kind: kind.text, payload: payload ?? "")
    }

    // MARK: - Conditions

    private mutating func condition(_ word: Word, _ arguments: [Word]) -> LifecycleScript.Condition? {
        let argument = arguments.first
        if arguments.count > 1 {
            fail(arguments[1], "nothing is expected here")
            return nil
        }
        switch word.text {
        case "killed":
            guard let argument else { return .killed(nil, nil) }
            return code(argument, allowsEvent: true).map { .killed($0.code, $0.event) }
        case "reported":
            guard let argument else { return .reported(nil) }
            return code(argument, allowsEvent: false).map { .reported($0.code) }
        case "exited":
            guard let argument else { return .exited(nil) }
            guard let code = Int32(argument.text), (0...255).contains(code) else {
                fail(argument, "\(argument.text.quoted()) is not an exit code; write 0 to 255")
                return nil
            }
            return .exited(code)
        default:
            break
        }
        if let argument {
            fail(argument, "nothing is expected after \(word.text.quoted())")
            return nil
        }
        switch word.text {
        case "ready": return .ready
        case "alive": return .alive
        default:
            guard let state = Self.states.first(where: { $0.rawValue == word.text }) else {
                fail(word, "unknown condition \(word.text.quoted())", among: Self.conditions)
                return nil
            }
            return .state(state)
        }
    }

    private mutating func code(
        _ word: Word, allowsEvent: Bool
    ) -> (code: TerminationCode, event: WatchdogEvent?)? {
        let parts = word.text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let code = TerminationCode.all.first(where: { $0.hexadecimal == parts[0].lowercased() }) else {
            fail(word, "unknown code \(parts[0].quoted())", among: TerminationCode.all.map(\.hexadecimal))
            return nil
        }
        guard parts.count > 1 else { return (code, nil) }
        guard allowsEvent, let event = WatchdogEvent(rawValue: parts[1]) else {
            fail(word, "unknown event \(parts[1].quoted())", among: WatchdogEvent.allCases.map(\.rawValue))
            return nil
        }
        return (code, event)
    }

    private mutating func span(_ words: [Word]) -> Duration? {
        let text = words.map(\.text).joined(separator: " ")
        do throws(TimeSpan.SyntaxError) {
            return try TimeSpan.parse(text)
        } catch {
            diagnostics.report(
                .error, at: words[0].position, length: words[0].length, error.description.singleLine())
            return nil
        }
    }

    // MARK: - Errors

    private mutating func fail(_ word: Word, _ message: String, among choices: [String] = []) {
        let nearest = Similarity.nearest(to: word.text, among: choices)
        let rest = nearest == nil && !choices.isEmpty ? "; use one of \(choices.joined(separator: ", "))" : ""
        diagnostics.report(
            .error, at: word.position, length: word.length, message + rest, suggestion: nearest)
    }

    /// Reports a missing argument after the last word.
    private mutating func missing(_ word: Word, _ what: String) -> LifecycleScript.Command? {
        diagnostics.report(.error, at: word.position, length: word.length, "\(word.text) lacks \(what)")
        return nil
    }
}

extension LifecycleScript.Command {
    fileprivate var isLaunch: Bool {
        if case .launch = self { return true }
        return false
    }
}

extension String {
    fileprivate var trimmed: String {
        let blanks: Set<Character> = [" ", "\t"]
        return String(drop { blanks.contains($0) }.reversed().drop { blanks.contains($0) }.reversed())
    }
}
