// SPDX-License-Identifier: Apache-2.0

/// A call about one app in the form that almost all clients use, parsed without a decoder.
///
/// `{"method":"M","parameters":{"name":"N","wait":true}}`: these members in this order, without escapes; `wait` may be
/// missing, and blanks are ignored. After a pause, a decoder takes a tenth of a millisecond for it, a sixth of a
/// launch.
struct PlainCall {
    let method: String
    let request: AppRequest

    /// Nil for any other message, valid or not, which the decoder then reads.
    init?(decoding bytes: [UInt8]) {
        var reader = PlainReader(bytes)
        guard reader.skips("{"), reader.skips("\"method\""), reader.skips(":"), let method = reader.text(),
            reader.skips(","), reader.skips("\"parameters\""), reader.skips(":"),
            reader.skips("{"), reader.skips("\"name\""), reader.skips(":"), let name = reader.text()
        else { return nil }
        var waits = false
        if reader.skips(",") {
            guard reader.skips("\"wait\""), reader.skips(":") else { return nil }
            guard let value = reader.truth() else { return nil }
            waits = value
        }
        guard reader.skips("}"), reader.skips("}"), reader.isAtEnd else { return nil }
        self.method = method
        request = AppRequest(name, waits: waits)
    }
}
