// SPDX-License-Identifier: Apache-2.0

/// Identifies what was launched.
public struct ProgramVersion: Hashable, Sendable, Encodable {
    /// The build ID of the main program in hexadecimal digits; empty if it has none.
    public var buildID: String
    /// The name of the Debian package that contains the program; empty if none does.
    public var package: String
    /// The version of that package; without a package, the configured version of the app; else empty.
    public var packageVersion: String
    /// The program's file, as long as its package has not been looked up; nil afterward, or if it is unknown.
    public var file: String?

    /// Creates a version; without arguments, an unknown one.
    public init(buildID: String = "", package: String = "", packageVersion: String = "", file: String? = nil) {
        self.buildID = buildID
        self.file = file
        self.package = package
        self.packageVersion = packageVersion
    }

    /// The version under the name that the app's configuration gives it; the same if it gives none.
    public func named(_ configured: String?) -> ProgramVersion {
        guard let configured, !configured.isEmpty else { return self }
        return ProgramVersion(buildID: buildID, packageVersion: configured)
    }

    /// The name under which reports, metrics and the organizer know it: the configured version, else the first digits
    /// of the build ID; empty if both are unknown.
    public var name: String { package.isEmpty && !packageVersion.isEmpty ? packageVersion : String(buildID.prefix(8)) }

    /// The version with the package of its file.
    func resolved(by packages: DebianPackages) -> ProgramVersion {
        guard let file else { return self }
        var version = self
        version.file = nil
        guard let package = packages.package(of: file) else { return version }
        (version.package, version.packageVersion) = (package.name, package.version)
        return version
    }

    /// The shortest text that tells people which version it is: `3f2a91c0 (redis 7.0.15-1)`, `2.4.1 (3f2a91c0)`,
    /// `3f2a91c0` or `unknown`.
    public var text: String {
        let build = String(buildID.prefix(8))
        guard !package.isEmpty else {
            if name.isEmpty { return "unknown" }
            return name == build || build.isEmpty ? name : "\(name) (\(build))"
        }
        return build.isEmpty ? "\(package) \(packageVersion)" : "\(build) (\(package) \(packageVersion))"
    }
}
