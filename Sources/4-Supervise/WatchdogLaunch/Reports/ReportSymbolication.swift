// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
package import WatchdogCapture
import WatchdogLinux
import WatchdogRendering
public import WatchdogReport

/// Symbolicates a stored report with debug files that were missing when it was written: `watchdogd report symbolicate`.
public struct ReportSymbolication {
    /// The result of symbolication.
    public struct Result {
        /// The report with the names.
        public let report: Report
        /// How many names were added.
        public let outcome: ReportNaming.Outcome
        /// What was done and what is missing, one line each, safe for a terminal.
        public let account: [String]

        package init(report: Report, outcome: ReportNaming.Outcome, account: [String]) {
            self.report = report
            self.outcome = outcome
            self.account = account
        }
    }

    private static let packages = "/usr/lib/debug"

    /// The directories that the caller named; they must exist.
    private let named: [String]
    private let usesDebuginfod: Bool
    private let symbolicator: Symbolicator
    /// Whether the program and its libraries themselves are used, if they have symbols.
    private let usesPrograms: Bool

    /// Prepares a symbolication.
    ///
    /// - Parameters:
    ///   - directories: where to search for debug files; empty for the directory that packages use.
    ///   - usesDebuginfod: whether to ask the servers in `DEBUGINFOD_URLS` for files that no directory has.
    public init(directories: [String], usesDebuginfod: Bool) {
        named = directories
        self.usesDebuginfod = usesDebuginfod
        symbolicator = Symbolicator()
        usesPrograms = false
    }

    /// Prepares a symbolication with what this machine has.
    package init(with symbolicator: Symbolicator) {
        named = []
        usesDebuginfod = false
        self.symbolicator = symbolicator
        usesPrograms = true
    }

    /// Finds the debug files and symbolicates the frames.
    ///
    /// - Parameter progress: called with what happens next, and how much is done, from 0 to 1 if that is known.
    /// - Throws: ``RunError`` if nothing can be symbolicated at all.
    public func run(
        _ report: Report, progress: (_ what: String, _ fraction: Double?) -> Void = { _, _ in }
    ) throws -> Result {
        try checkDirectories()
        guard let naming = ReportNaming(report) else {
            throw RunError(
                "cannot symbolicate the report: watchdogd did not write it, and it has no build IDs to match files",
                exitCode: 65)
        }
        let images = naming.images
        guard !images.isEmpty else {
            return Result(report: report, outcome: .init(), account: ["all frames have names and lines already"])
        }
        var files: [Int: DebugFile] = [:]
        var missing: [String] = []
        progress("searching for debug files", nil)
        find(images, symbolicator, &files, &missing, progress)
        if files.isEmpty, images.allSatisfy({ $0.unnamed == 0 }) {
            return Result(report: report, outcome: .init(), account: ["all frames have names; no file has more lines"])
        }
        guard !files.isEmpty else {
            throw RunError(
                (["cannot symbolicate the report: no debug file of its images was found"] + missing).joined(
                    separator: "; "),
                exitCode: 66)
        }
        progress("naming the frames", nil)
        let (request, order) = naming.request(for: Set(files.keys))
        let chosen = order.compactMap { files[$0]?.descriptor }
        let answer: NamingAnswer
        do {
            answer = try symbolicator.names(request, files: chosen)
        } catch {
            throw RunError("cannot symbolicate the report: \(error)", exitCode: error.code == .notFound ? 69 : 70)
        }
        let (named, outcome) = naming.report(with: answer, to: request, images: order)
        var result = named
        if result.metadata.linux?.culprit != nil { result.summarize(Explanation(of: result)) }
        return Result(
            report: result, outcome: outcome, account: account(images, files, outcome, answer.notes + missing))
    }

    /// The directories to search.
    var directories: [String] { named.isEmpty ? [Self.packages] : named }

    private func checkDirectories() throws {
        for directory in named {
            var status = stat()
            guard stat(directory, &status) == 0 else {
                throw RunError.noInput("--debug-dir \(directory): \(Errno(rawValue: errno))".singleLine(limit: 4_096))
            }
            guard status.st_mode & S_IFMT == S_IFDIR else {
                throw RunError.noInput(
                    "--debug-dir \(directory): not a directory; name the directory that holds the file".singleLine(
                        limit: 4_096))
            }
        }
        if usesDebuginfod, getenv("DEBUGINFOD_URLS").map({ String(cString: $0) }) ?? "" == "" {
            throw RunError.usage(
                "--debuginfod: DEBUGINFOD_URLS is not set; name a server: DEBUGINFOD_URLS=https://debuginfod.elfutils.org"
            )
        }
    }

    /// Finds the debug file of each image, or records why there is none.
    private func find(
        _ images: [ReportNaming.Image], _ symbolicator: Symbolicator, _ files: inout [Int: DebugFile],
        _ missing: inout [String], _ progress: (String, Double?) -> Void
    ) {
        let wanted = Dictionary(
            uniqueKeysWithValues: images.compactMap { image in
                image.buildID.map { (image.index, DebugFile.Wanted(buildID: $0, name: image.name, path: image.path)) }
            })
        var search = DebugFileSearch(in: directories)
        if usesPrograms { search.findPrograms(images.compactMap { wanted[$0.index] }) }
        let found = search.find(images.compactMap { wanted[$0.index] })
        let client = usesDebuginfod ? Debuginfod(symbolicator, environment: .inherited) : nil
        for (done, image) in images.enumerated()
        where image.unnamed > 0 || wanted[image.index].map({ found[$0.buildID] != nil }) == true {
            if client != nil {
                progress("asking for \(image.name.singleLine(limit: 64))", Double(done) / Double(images.count))
            }
            guard let target = wanted[image.index] else {
                missing.append("\(image.name.singleLine(limit: 64)): the report has no build ID for it")
                continue
            }
            if let file = found[target.buildID] {
                files[image.index] = file
                continue
            }
            var reasons = [search.impostor(of: target) ?? "no file has its build ID"]
            // The kernel's page (the vDSO) is in no file.
            if let client, image.path.hasPrefix("/") {
                do throws(Debuginfod.Failure) {
                    files[image.index] = try client.file(for: target)
                    continue
                } catch {
                    reasons.append("debuginfod: \(error)")
                }
            }
            let why = reasons.joined(separator: "; ")
            missing.append("\(image.name.singleLine(limit: 64)) (\(target.buildID)): \(why.singleLine(limit: 1_024))")
        }
        missing += [search.truncation, search.omission].compactMap(\.self)
    }

    private func account(
        _ images: [ReportNaming.Image], _ files: [Int: DebugFile], _ outcome: ReportNaming.Outcome, _ notes: [String]
    ) -> [String] {
        var first = "\(outcome.named.counted("frame")) got names"
        if outcome.located > 0 { first += ", \(outcome.located.counted("frame")) that had a name got lines" }
        if outcome.unnamed > 0 { first += ", \(outcome.unnamed) still without a name" }
        let used = images.compactMap { image in
            files[image.index].map { "\(image.name.singleLine(limit: 64)): \($0.path.singleLine(limit: 1_024))" }
        }
        return [first] + used + notes.map { $0.singleLine(limit: 2_048) }
    }
}
