// SPDX-License-Identifier: Apache-2.0

extension RemoteEvent: Codable {
    private enum Name: String, CodingKey {
        case hello, launched, ready, marked, state, handled, lost, injected, refused, hung, incident, limited, ended
    }

    private enum Field: String, CodingKey {
        case version, pid, afterUSec, source, mark, state, event, fault, request, reason, forUSec
    }

    private var name: Name {
        switch self {
        case .hello: .hello
        case .launched: .launched
        case .ready: .ready
        case .marked: .marked
        case .state: .state
        case .handled: .handled
        case .lost: .lost
        case .injected: .injected
        case .refused: .refused
        case .hung: .hung
        case .incident: .incident
        case .limited: .limited
        case .ended: .ended
        }
    }

    /// Encodes the event as an object whose only key is its name.
    public func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Name.self)
        switch self {
        case .incident(let incident): return try object.encode(incident, forKey: name)
        case .ended(let end): return try object.encode(end, forKey: name)
        default: break
        }
        var fields = object.nestedContainer(keyedBy: Field.self, forKey: name)
        switch self {
        case .hello(let version): try fields.encode(version, forKey: .version)
        case .launched(let pid): try fields.encode(pid, forKey: .pid)
        case .ready(let after, let source):
            try fields.encode(after, forKey: .afterUSec)
            try fields.encode(source, forKey: .source)
        case .marked(let mark, let after):
            try fields.encode(mark, forKey: .mark)
            try fields.encode(after, forKey: .afterUSec)
        case .state(let state): try fields.encode(state, forKey: .state)
        case .handled(let event, let after):
            try fields.encode(event, forKey: .event)
            try fields.encode(after, forKey: .afterUSec)
        case .lost(let event): try fields.encode(event, forKey: .event)
        case .injected(let fault): try fields.encode(fault, forKey: .fault)
        case .refused(let request, let reason):
            try fields.encode(request, forKey: .request)
            try fields.encode(reason, forKey: .reason)
        case .hung(let duration): try fields.encode(duration, forKey: .forUSec)
        case .limited(let reason): try fields.encode(reason, forKey: .reason)
        case .incident, .ended: break
        }
    }

    /// Decodes an event; throws for one that this version does not know.
    public init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: Name.self)
        guard let name = object.allKeys.first else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "unknown event"))
        }
        func field<Value: Decodable>(_ key: Field) throws -> Value {
            try object.nestedContainer(keyedBy: Field.self, forKey: name).decode(Value.self, forKey: key)
        }
        self =
            switch name {
            case .hello: .hello(version: try field(.version))
            case .launched: .launched(pid: try field(.pid))
            case .ready: .ready(afterUSec: try field(.afterUSec), source: try field(.source))
            case .marked: .marked(mark: try field(.mark), afterUSec: try field(.afterUSec))
            case .state: .state(state: try field(.state))
            case .handled: .handled(event: try field(.event), afterUSec: try field(.afterUSec))
            case .lost: .lost(event: try field(.event))
            case .injected: .injected(fault: try field(.fault))
            case .refused: .refused(request: try field(.request), reason: try field(.reason))
            case .hung: .hung(forUSec: try field(.forUSec))
            case .limited: .limited(reason: try field(.reason))
            case .incident: .incident(try object.decode(RemoteIncident.self, forKey: name))
            case .ended: .ended(try object.decode(RemoteEnd.self, forKey: name))
            }
    }
}
