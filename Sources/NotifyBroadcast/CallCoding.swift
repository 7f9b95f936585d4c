/// The keys of an encoded call: its name, and its arguments in order.
private enum CallKey: String, CodingKey {
    case name
    case arguments
}

/// Decodes a call. Used by generated code.
public final class CallDecoder {
    /// The encoded name of the call.
    public let name: String
    private let decoder: any Decoder
    private var arguments: (any UnkeyedDecodingContainer)?
    private var position = 0

    /// Decodes the name.
    public init(_ decoder: any Decoder) throws {
        self.decoder = decoder
        name = try decoder.container(keyedBy: CallKey.self).decode(String.self, forKey: .name)
    }

    /// Decodes the next argument.
    ///
    /// - Throws: A ``BroadcastError`` with the code `wrongArguments`, if the argument is missing or has another type.
    public func next<Argument: Decodable>() throws(BroadcastError) -> Argument {
        position += 1
        do {
            var rest = try arguments ?? list()
            defer { arguments = rest }
            return try rest.decode(Argument.self)
        } catch {
            throw BroadcastError(
                code: .wrongArguments,
                message: "argument \(position) of '\(name)' can't be decoded as \(Argument.self): \(error)",
                errors: [error])
        }
    }

    /// Checks that all arguments were decoded. The encoded form of a call without arguments may lack the list of
    /// arguments.
    ///
    /// - Throws: A ``BroadcastError`` with the code `wrongArguments`, if there are more arguments.
    public func end() throws(BroadcastError) {
        if let rest = arguments ?? (try? list()), !rest.isAtEnd {
            throw BroadcastError(code: .wrongArguments, message: "'\(name)' has more than \(position) arguments")
        }
    }

    private func list() throws -> any UnkeyedDecodingContainer {
        try decoder.container(keyedBy: CallKey.self).nestedUnkeyedContainer(forKey: .arguments)
    }

    /// Returns the error for a name that is not in the protocol.
    public func unknownName(in protocolName: String) -> BroadcastError {
        BroadcastError(code: .unknownCall, message: "\(protocolName) has no call named '\(name)'")
    }
}

/// Encodes a call. Used by generated code.
public struct CallEncoder {
    private let encoder: any Encoder
    private let name: String

    /// Creates an encoder for a call.
    public init(_ encoder: any Encoder, name: String) {
        self.encoder = encoder
        self.name = name
    }

    /// Encodes the name and the arguments.
    public func encode<each Argument: Encodable>(_ arguments: repeat each Argument) throws {
        var container = encoder.container(keyedBy: CallKey.self)
        try container.encode(name, forKey: .name)
        var list = container.nestedUnkeyedContainer(forKey: .arguments)
        repeat try list.encode(each arguments)
    }
}
