import ArgumentParser
import NotifyClient

/// A text in which names in braces stand for fields of a message: `{time} {name}: {text}`.
struct FormatTemplate: Sendable, Equatable {
    enum Field: Sendable, Equatable {
        case sequence, time, uid, gid, pid, name, object, payload, text, headers, redelivered, json
        case header(String)

        private static let named: [(name: String, field: Field)] = [
            ("sequence", .sequence), ("time", .time), ("uid", .uid), ("gid", .gid), ("pid", .pid), ("name", .name),
            ("object", .object), ("payload", .payload), ("text", .text), ("headers", .headers),
            ("redelivered", .redelivered), ("json", .json),
        ]

        /// All field names, for help and error messages.
        static let names = named.map(\.name).joined(separator: ", ") + " or header:KEY"

        init?(_ name: String) {
            if name.hasPrefix("header:"), name.count > 7 {
                self = .header(String(name.dropFirst(7)))
            } else if let field = Self.named.first(where: { $0.name == name })?.field {
                self = field
            } else {
                return nil
            }
        }
    }

    enum Part: Sendable, Equatable {
        case literal([UInt8])
        case field(Field)
    }

    private(set) var parts: [Part] = []

    /// Reads a template.
    ///
    /// - Throws: `ValidationError` for an unknown field name, an unknown escape, or a brace that is not closed.
    ///   ArgumentParser prepends the option and the template to the message.
    init(_ text: String) throws {
        var literal: [UInt8] = []
        var rest = text[...]
        while let character = rest.popFirst() {
            switch character {
            case "\\": literal += try Self.escape(&rest)
            case "{":
                if !literal.isEmpty { parts.append(.literal(literal)) }
                literal = []
                parts.append(.field(try Self.field(&rest)))
            default: literal += Array(String(character).utf8)
            }
        }
        if !literal.isEmpty { parts.append(.literal(literal)) }
    }

    /// Parses an escape after its backslash, and returns its bytes.
    private static func escape(_ rest: inout Substring) throws -> [UInt8] {
        switch rest.popFirst() {
        case "n": [UInt8(ascii: "\n")]
        case "t": [UInt8(ascii: "\t")]
        case "r": [UInt8(ascii: "\r")]
        case "0": [0]
        case let character? where "\\{}".contains(character): Array(String(character).utf8)
        case let other:
            throw ValidationError(
                "unknown escape '\\\(other.map(String.init) ?? "")'; expected \\n, \\t, \\r, \\0, \\\\, \\{ or \\}")
        }
    }

    /// Parses a field after its opening brace.
    private static func field(_ rest: inout Substring) throws -> Field {
        guard let end = rest.firstIndex(of: "}") else {
            throw ValidationError("expected a closing brace after '{\(rest)'; write \\{ for a brace")
        }
        let name = String(rest[..<end])
        rest = rest[rest.index(after: end)...]
        guard let field = Field(name) else {
            throw ValidationError("unknown field '{\(name)}'; expected \(Field.names); write \\{ for a brace")
        }
        return field
    }

    /// Appends the template with the fields of a message.
    ///
    /// - Parameters:
    ///   - replacesControls: Whether control characters in fields are replaced. Control characters of the template are
    ///     kept.
    ///   - times: The style of the message's time.
    func append(
        _ message: NotificationClient.Message, to bytes: inout [UInt8], replacesControls: Bool = false,
        times: TimeStyle = .exact
    ) {
        for part in parts {
            switch part {
            case .literal(let literal): bytes += literal
            case .field(let field):
                let start = bytes.count
                Self.append(field, of: message, times, to: &bytes)
                if replacesControls { MessageFormat.replaceControls(in: &bytes, from: start) }
            }
        }
    }

    private static func append(
        _ field: Field, of message: NotificationClient.Message, _ times: TimeStyle, to bytes: inout [UInt8]
    ) {
        switch field {
        case .sequence: bytes += String(message.sequence).utf8
        case .time: bytes += times.text(microseconds: message.timeMicroseconds).utf8
        case .uid: bytes += String(message.uid).utf8
        case .gid: bytes += String(message.gid).utf8
        case .pid: bytes += String(message.pid).utf8
        case .name: bytes += message.name.utf8
        case .object: bytes += (message.object ?? "").utf8
        case .payload: message.withPayload { bytes.append(contentsOf: $0) }
        case .text: message.withPayload { bytes += String(decoding: $0, as: UTF8.self).utf8 }
        case .headers: bytes += MessageFormat.json(message.headers)
        case .header(let key): bytes += (message.headers[key] ?? "").utf8
        case .redelivered: bytes += String(message.isRedelivered).utf8
        case .json: bytes += MessageFormat.json(message)
        }
    }
}
