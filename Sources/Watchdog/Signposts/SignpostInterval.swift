// SPDX-License-Identifier: Apache-2.0

/// An interval that has begun, to be handed back when it ends.
public struct SignpostInterval: Sendable {
    let name: StaticString
    let id: SignpostID
}
