// SPDX-License-Identifier: Apache-2.0

/// The version of a launched program.
public struct ProgramVersion: Hashable, Sendable, Encodable {
    /// The build ID of the main program in hexadecimal digits; empty without one.
    public var buildID: String
    /// The name of the Debian package that contains the program; empty without one.
    public var package: String
    /// The version of that package; without a package, the configured version of the app; otherwise empty.
    public var packageVersion: String
    /// The path of the program until its package is looked up; nil afterward, or if unknown.
    public var file: String?

    /// Creates a version; without arguments, an unknown one.
    public init(buildID: String = "", package: String = "", packageVersion: String = "", file: String? = nil) {
        self.buildID = buildID
        self.file = file
        self.package = package
        self.packageVersion = packageVersion
    }

    /// The version with the name from the app's configuration; unchanged without one.
    public func named(_ configured: String?) -> ProgramVersion {
        guard let configured, !configured.isEmpty else { return self }
        return ProgramVersion(buildID: buildID, packageVersion: configured)
    }

    /// The name in reports, metrics and the organizer: the configured version, else the first digits of the build ID;
    /// empty if both are unknown.
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

    /// The shortest text that identifies the version for people: `3f2a91c0 (redis 7.0.15-1)`, `2.4.1 (3f2a91c0)`,
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
