// SPDX-License-Identifier: Apache-2.0

public import WatchdogConfiguration
public import WatchdogLaunch

/// Finds an app by its name in a configuration directory.
public enum InstalledApp {
    /// Reads the files of an app and prints warnings on standard error.
    ///
    /// - Throws: ``RunError``: EX_NOINPUT with the nearest name if there is no such app, or EX_DATAERR with every
    ///   mistake if its files are invalid.
    public static func find(_ name: String, in directory: String) throws(RunError) -> AppConfiguration {
        let loader = ConfigurationLoader(HostFileSystem.ofDaemon, specifiers: .host)
        let found: AppDefinition?
        do {
            found = try loader.load(app: AppName(name), in: directory)
        } catch let error as AppName.Invalid {
            throw .usage("--app: \(error)")
        } catch {
            throw .noInput("\(error)")
        }
        guard let app = found else {
            let question = loader.nearestName(to: name, in: directory).map { "; did you mean \"\($0)\"?" } ?? ""
            throw .noInput("there is no app \"\(name)\" in \(directory)\(question)")
        }
        for diagnostic in app.diagnostics { StandardError.say(diagnostic.description) }
        guard let configuration = app.configuration else {
            throw RunError("\(app.files[0]) is invalid", exitCode: 65)
        }
        return configuration
    }
}
