/// How a call that travels is laid out: its name, and its arguments in order.
private enum CallKey: String, CodingKey {
    case name
    case arguments
}

/// Takes a call apart that has travelled. Generated code uses it.
public final class CallDecoder {
    /// The name under which the call travelled.
    public let name: String
    private let decoder: any Decoder
    private var arguments: (any UnkeyedDecodingContainer)?
    private var position = 0

    /// Reads the name.
    public init(_ decoder: any Decoder) throws {
        self.decoder = decoder
        name = try decoder.container(keyedBy: CallKey.self).decode(String.self, forKey: .name)
    }

    /// The next argument.
    public func next<Argument: Decodable>() throws(BroadcastError) -> Argument {
        position += 1
        do {
            var rest = try arguments ?? list()
            defer { arguments = rest }
            return try rest.decode(Argument.self)
        } catch {
            throw BroadcastError(
                code: .wrongArguments, message: "argument \(position) of '\(name)' is no \(Argument.self): \(error)",
                errors: [error])
        }
    }

    /// Sees to it that no argument is left. A call without arguments may come without a list of them.
    public func end() throws(BroadcastError) {
        if let rest = arguments ?? (try? list()), !rest.isAtEnd {
            throw BroadcastError(code: .wrongArguments, message: "'\(name)' takes no more than \(position) arguments")
        }
    }

    private func list() throws -> any UnkeyedDecodingContainer {
        try decoder.container(keyedBy: CallKey.self).nestedUnkeyedContainer(forKey: .arguments)
    }

    /// The error for a name that the protocol does not know.
    public func unknownName(in protocolName: String) -> BroadcastError {
        BroadcastError(code: .unknownCall, message: "\(protocolName) has no call named '\(name)'")
    }
}

/// Writes a call that is to travel. Generated code uses it.
public struct CallEncoder {
    private let encoder: any Encoder
    private let name: String

    /// Begins a call.
    public init(_ encoder: any Encoder, name: String) {
        self.encoder = encoder
        self.name = name
    }

    /// Writes name and arguments.
    public func encode<each Argument: Encodable>(_ arguments: repeat each Argument) throws {
        var container = encoder.container(keyedBy: CallKey.self)
        try container.encode(name, forKey: .name)
        var list = container.nestedUnkeyedContainer(forKey: .arguments)
        repeat try list.encode(each arguments)
    }
}
