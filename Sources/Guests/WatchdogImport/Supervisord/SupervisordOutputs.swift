// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration

/// The destinations of a supervisord program's output.
struct SupervisordOutputs {
    private let isJoined: INIFile.Option?
    private let output: Stream
    private let errors: Stream

    private struct Stream {
        let file: INIFile.Option?
        let syslog: INIFile.Option?
    }

    /// Removes the options from a program.
    init(take: (String) -> INIFile.Option?) {
        isJoined = take("redirect_stderr")
        output = Stream(file: take("stdout_logfile"), syslog: take("stdout_syslog"))
        errors = Stream(file: take("stderr_logfile"), syslog: take("stderr_syslog"))
    }

    func put(into draft: inout AppDraft) throws(ImportError) {
        let isJoined = try SupervisordValue.boolean(isJoined, false)
        try put(output, .standardOutput, isInherited: false, &draft)
        if isJoined {
            for option in [errors.file, errors.syslog].compactMap(\.self) {
                draft.note(.dropped, at: option.place, "\(option.shown) has no effect with redirect_stderr")
            }
            return
        }
        let isInherited = output.file.map { Self.ownStreams.contains($0.value) } ?? false
        try put(errors, .standardError, isInherited: isInherited, &draft)
        // By default, it would follow standard output.
        if draft.has(.standardOutput), !draft.has(.standardError) { draft.set(.standardError, "journal") }
    }

    private static let ownStreams = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"]
    private static let ownErrors = ["/dev/stderr", "/dev/fd/2", "/proc/self/fd/2"]

    private func put(
        _ stream: Stream, _ key: ConfigurationKey, isInherited: Bool, _ draft: inout AppDraft
    ) throws(ImportError) {
        // The journal also receives syslog messages.
        let hasSyslog = try SupervisordValue.boolean(stream.syslog, false)
        if hasSyslog, let syslog = stream.syslog {
            draft.set(key, "journal")
            draft.note(.changed, at: syslog.place, "\(syslog.shown) became \(key.rawValue)=journal")
        }
        guard let option = stream.file else { return }
        switch option.value.lowercased() {
        case "syslog": draft.set(key, "journal")
        case "auto":
            draft.set(key, "journal")
            draft.note(
                .changed, at: option.place,
                "\(option.shown), a file in supervisord's childlogdir, became \(key.rawValue)=journal")
        case "none", "off", "", "/dev/null":
            if !hasSyslog { draft.set(key, "null") }
        case _ where hasSyslog:
            draft.note(.dropped, at: option.place, "\(option.shown): output goes to one place, the journal")
        case let value where (Self.ownStreams + Self.ownErrors).contains(value):
            putOwn(option, key, isInherited, &draft)
        case let value:
            if value.hasPrefix("~") {
                return draft.note(.dropped, at: option.place, "\(option.shown): write the path of the home directory")
            }
            let path = option.absolutePath(&draft)
            draft.carry(key, "append:" + UnitText.escapedSpecifiers(path), of: option.shown, at: option.place)
        }
    }

    /// Sends a program's output to supervisord's own output; watchdogd has only one such destination.
    private func putOwn(
        _ option: INIFile.Option, _ key: ConfigurationKey, _ isInherited: Bool, _ draft: inout AppDraft
    ) {
        if key == .standardOutput {
            draft.set(key, "inherit")
            if Self.ownErrors.contains(option.value) {
                draft.note(.changed, at: option.place, "\(option.shown) became watchdogd's standard output")
            }
        } else if isInherited {
            draft.set(key, "inherit")
            if Self.ownErrors.contains(option.value) {
                draft.note(
                    .changed, at: option.place, "\(option.shown) became inherit: where standard output goes")
            }
        } else {
            draft.set(key, "journal")
            draft.note(.changed, at: option.place, "\(option.shown) became \(key.rawValue)=journal")
        }
    }
}
