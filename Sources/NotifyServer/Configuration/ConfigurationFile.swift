import Configuration
import FoundationEssentials
import NotifySystem
import SystemPackage
import Yams

/// The configuration file, parsed whole: it is right in every line, or it is an error that names the line.
struct ConfigurationFile {
    /// A file larger than this is not a configuration file.
    static let maximumBytes = 1 << 20

    let path: String
    private(set) var values: [AbsoluteConfigKey: ConfigValue] = [:]

    /// Reads and checks a file.
    ///
    /// - Returns: `nil` if there is none and it is not required.
    static func read(path: String, isRequired: Bool) throws(ServerError) -> ConfigurationFile? {
        let bytes: [UInt8]
        do throws(Errno) {
            bytes = try readBytes(path: path)
        } catch {
            if error == .noSuchFileOrDirectory || error == .notDirectory, !isRequired { return nil }
            throw ServerError(
                .configurationUnreadable,
                "the configuration file \(path) cannot be read: correct its path or permissions", cause: error)
        }
        return try ConfigurationFile(path: path, bytes: bytes)
    }

    init(path: String, bytes: [UInt8]) throws(ServerError) {
        self.path = path
        guard bytes.count <= Self.maximumBytes else {
            throw ServerError(
                .configurationInvalid, "\(path): larger than \(Self.maximumBytes) bytes, expected settings")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ServerError(.configurationInvalid, "\(path): not UTF-8 text, expected settings in YAML")
        }
        guard let root = try parse(text) else { return }
        // A file of comments only has an empty scalar for its content.
        if case .scalar(let scalar) = root, scalar.string.isEmpty { return }
        guard case .mapping(let mapping) = root else {
            throw wrong(root.mark, "expected settings of the form \"key: value\"")
        }
        try readSettings(mapping, under: [])
    }

    private func parse(_ text: String) throws(ServerError) -> Node? {
        do {
            return try Yams.compose(yaml: text)
        } catch let error as YamlError {
            throw describe(error)
        } catch {
            throw ServerError(.configurationInvalid, "\(path): not YAML", cause: error)
        }
    }

    /// Walks the levels of keys that settings have; anything else is unknown, so that it goes no deeper than they do.
    private mutating func readSettings(_ mapping: Node.Mapping, under parents: [String]) throws(ServerError) {
        for (keyNode, valueNode) in mapping {
            guard case .scalar(let keyScalar) = keyNode else {
                throw wrong(keyNode.mark, "expected a setting's name before the colon")
            }
            let components = parents + [keyScalar.string]
            let key = components.joined(separator: ".")
            if let setting = ConfigurationSetting.all.first(where: { $0.components == components }) {
                values[AbsoluteConfigKey(components)] = try value(of: valueNode, for: setting)
                continue
            }
            let known = Self.knownNames(under: components)
            guard !known.isEmpty else {
                throw wrong(
                    keyNode.mark,
                    "unknown key \"\(key)\", expected one of \(Self.list(Self.knownNames(under: parents)))")
            }
            switch valueNode {
            case .mapping(let inner):
                try readSettings(inner, under: components)
            case .scalar(let scalar) where scalar.string.isEmpty && scalar.style == .plain:
                continue
            default:
                throw wrong(valueNode.mark, "\(key): expected settings below it, such as \(Self.list(known))")
            }
        }
    }

    private func value(of node: Node, for setting: ConfigurationSetting) throws(ServerError) -> ConfigValue {
        guard case .scalar(let scalar) = node else {
            throw wrong(node.mark, "\(setting.key): expected \(setting.expectation), not a list or mapping")
        }
        // The content decides only together with its tag: "5" in quotes is a text and not a number.
        var trial = ServerConfiguration(socketPath: "", socketMode: 0, databasePath: "")
        guard let content = Self.content(of: node, scalar, as: setting.type), setting.apply(content, to: &trial),
            setting.mayStandInFile(content)
        else {
            let quote = scalar.style == .plain ? "" : "\""
            throw wrong(
                node.mark, "\(setting.key): expected \(setting.expectation), not \(quote)\(scalar.string)\(quote)")
        }
        return ConfigValue(content, isSecret: false)
    }

    private static func content(of node: Node, _ scalar: Node.Scalar, as type: ConfigType) -> ConfigContent? {
        let name = Tag.Name(rawValue: node.tag.description)
        switch (type, name) {
        case (.string, .str): return .string(scalar.string)
        case (.int, .int): return node.int.map { .int($0) }
        case (.double, .int), (.double, .float): return node.float.map { .double($0) }
        default: return nil
        }
    }

    /// The keys that may stand directly below `parents`.
    private static func knownNames(under parents: [String]) -> [String] {
        var names: [String] = []
        for setting in ConfigurationSetting.all
        where setting.components.count > parents.count && setting.components.starts(with: parents) {
            let name = setting.components[parents.count]
            if names.last != name { names.append(name) }
        }
        return names
    }

    private static func list(_ names: [String]) -> String { names.joined(separator: ", ") }

    private func wrong(_ mark: Mark?, _ problem: String) -> ServerError {
        let place = mark.map { "\(path):\($0.line)" } ?? path
        return ServerError(.configurationInvalid, "\(place): \(problem)")
    }

    private func describe(_ error: YamlError) -> ServerError {
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            wrong(mark, "not YAML: \(problem)")
        case .duplicatedKeysInMapping(let duplicates, let context):
            wrong(context.mark, "given twice: \(duplicates.sorted().joined(separator: ", ")), expected once")
        default:
            ServerError(.configurationInvalid, "\(path): not YAML text")
        }
    }

    private static func readBytes(path: String) throws(Errno) -> [UInt8] {
        let file = try OwnedDescriptor.open(path, .readOnly, options: .nonBlocking)
        let descriptor = file.descriptor
        return try Errno.typed {
            var bytes: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 65_536)
            while bytes.count <= maximumBytes {
                let count = try chunk.withUnsafeMutableBytes { try descriptor.read(into: $0) }
                if count == 0 { break }
                bytes += chunk[..<count]
            }
            return bytes
        }
    }
}
