// SPDX-License-Identifier: Apache-2.0

/// An interval that has begun; pass it back to end it.
public struct SignpostInterval: Sendable {
    let name: StaticString
    let id: SignpostID
}
