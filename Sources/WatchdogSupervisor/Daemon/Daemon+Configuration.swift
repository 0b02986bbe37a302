// SPDX-License-Identifier: Apache-2.0

import Dispatch
import WatchdogConfiguration
import WatchdogControl
import WatchdogLinux

extension Daemon {
    /// Takes over what is configured when the daemon starts, and launches what is enabled.
    ///
    /// An app whose files are wrong is listed with what is wrong; the others are launched.
    ///
    /// - Parameter inheritance: what the watchdogd before this one has left; such apps run on.
    func begin(with listing: ConfigurationListing, _ inheritance: Inheritance) {
        for diagnostic in listing.allDiagnostics { say(diagnostic.description) }
        invalidFiles = listing.invalidFiles
        handDownControllers(for: listing)
        add(listing.valid.map { DaemonApp($0.configuration, file: $0.file, of: self) })
        resume(inheritance, known: Set(listing.apps.map(\.name.description)))
    }

    /// Reads the configuration again, beside the loop; nothing changes unless all of it is valid.
    func reload(answering answer: ControlAnswer<ReloadReply>? = nil) {
        let token = token()
        reloads[token] = .some(answer)
        let directory = places.configurationDirectory
        let mailbox = host.mailbox
        reading.async {
            let result = Result { () throws(ConfigurationReadError) in
                try ConfigurationLoader(HostFileSystem(), specifiers: .host).load(directory: directory)
            }
            mailbox.post(.daemon(.configurationRead(token, result)))
        }
    }

    func configurationRead(_ token: Int, _ result: Result<ConfigurationListing, ConfigurationReadError>) {
        guard let answer = reloads.removeValue(forKey: token) else { return }
        switch result {
        case .failure(let error):
            refuse([ControlDiagnostic(.error, file: places.configurationDirectory, message: error.description)], answer)
        case .success(let listing) where listing.allDiagnostics.contains(where: { $0.severity == .error }):
            refuse(listing.allDiagnostics.map(ControlDiagnostic.init), answer)
        case .success(let listing):
            let reply = apply(listing)
            let what = "added \(reply.added.count), changed \(reply.changed.count), removed \(reply.removed.count)"
            control?.publish(ControlEvent(.reloaded, message: "configuration read: \(what)", time: .now()))
            let line = "configuration read: \(what), unchanged \(reply.unchanged)"
            tell(verbosity == .quiet ? nil : line, JournalEntry(.reloaded, line))
            answer?.succeed(reply)
        }
    }

    /// Only where an app needs it: it may mean to move this process to another cgroup.
    private func handDownControllers(for listing: ConfigurationListing) {
        let needed = Set(listing.valid.flatMap { $0.configuration.program.cgroupLimits.controllers })
        if !needed.isEmpty { _ = host.cgroupParent?.enable(needed.sorted()) }
    }

    private func refuse(_ diagnostics: [ControlDiagnostic], _ answer: ControlAnswer<ReloadReply>?) {
        let line = "the configuration is invalid; nothing was changed"
        tell(line, JournalEntry(.configurationInvalid, line))
        for diagnostic in diagnostics { say(diagnostic.description) }
        answer?.fail(.invalidConfiguration(diagnostics))
    }

    private func apply(_ listing: ConfigurationListing) -> ReloadReply {
        guard !isStopping else { return ReloadReply(unchanged: apps.count) }
        var reply = ReloadReply(warnings: listing.allDiagnostics.map(ControlDiagnostic.init))
        var added: [DaemonApp] = []
        var removed = Set(appNames)
        var neighbour: AppConfiguration?
        for (configuration, file) in listing.valid {
            let name = configuration.name.description
            var configuration = configuration
            if let neighbour { configuration.share(with: neighbour) }
            neighbour = apps[name]?.configuration ?? configuration
            removed.remove(name)
            guard let app = apps[name] else {
                added.append(DaemonApp(configuration, file: file, of: self))
                continue
            }
            if app.configuration == configuration, app.wish != .forget {
                reply.unchanged += 1
            } else {
                app.update(configuration, file: file)
                reply.changed.append(name)
            }
        }
        invalidFiles = []
        handDownControllers(for: listing)
        add(added)
        for app in added where app.configuration.isEnabled { app.begin() }
        for name in removed { apps[name]?.stop(.forget) }
        reply.added = added.map(\.name)
        reply.removed = removed.sorted()
        return reply
    }
}

extension ConfigurationListing {
    /// What is wrong or doubtful, in the order of the files.
    var allDiagnostics: [ConfigurationDiagnostic] { apps.flatMap(\.diagnostics) + diagnostics }

    /// The apps that can be launched; a template is none.
    var valid: [(configuration: AppConfiguration, file: String)] {
        apps.compactMap { app in
            guard !app.name.isTemplate, let configuration = app.configuration else { return nil }
            return (configuration, app.files[0])
        }
    }

    /// What cannot be used.
    var invalidFiles: [InvalidFile] {
        apps.filter { $0.configuration == nil }.map { app in
            InvalidFile(
                name: app.name.description, file: app.files[0],
                diagnostics: app.diagnostics.map(ControlDiagnostic.init))
        }
            + diagnostics.filter { $0.severity == .error }.map {
                InvalidFile(name: "", file: $0.file, diagnostics: [ControlDiagnostic($0)])
            }
    }
}

extension ControlDiagnostic {
    init(_ diagnostic: ConfigurationDiagnostic) {
        self.init(
            diagnostic.severity == .error ? .error : .warning,
            file: diagnostic.file,
            line: diagnostic.line,
            column: diagnostic.column,
            message: diagnostic.message,
            suggestion: diagnostic.suggestion
        )
    }
}
