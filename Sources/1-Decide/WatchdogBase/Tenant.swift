// SPDX-License-Identifier: Apache-2.0

/// An app, and the user that it runs as: whose share of a limited resource something takes.
public struct Tenant: Hashable, Sendable {
    /// The app's name.
    public let app: String
    /// Its user ID.
    public let user: UInt32

    /// Creates a tenant.
    public init(app: String, user: UInt32) {
        self.app = app
        self.user = user
    }
}
