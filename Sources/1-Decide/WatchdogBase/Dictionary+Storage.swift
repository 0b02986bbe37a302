// SPDX-License-Identifier: Apache-2.0

extension Dictionary {
    /// Gives up the storage of an empty dictionary that once held many elements: by itself, storage never shrinks.
    public mutating func releaseStorageIfEmpty() {
        if isEmpty, capacity > 64 { self = [:] }
    }
}
