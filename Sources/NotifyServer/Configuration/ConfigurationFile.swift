import Configuration
import FoundationEssentials
import NotifySystem
import SystemPackage
import Yams

/// The configuration file, parsed and checked as a whole. The error about an invalid line names the line.
struct ConfigurationFile {
    /// The size limit in bytes. A larger file is refused, so that reading a wrong path stays cheap.
    static let maximumBytes = 1 << 20

    let path: String
    private let settings: [ConfigurationSetting]
    private(set) var values: [AbsoluteConfigKey: ConfigValue] = [:]
    /// The lists of records, by the key of their setting.
    private(set) var lists: [String: RecordList.Assignment] = [:]

    /// Reads and checks a file.
    ///
    /// - Returns: `nil` if the file does not exist and is not required.
    static func read(
        path: String, isRequired: Bool, settings: [ConfigurationSetting] = ConfigurationSetting.all
    ) throws(ServerError) -> ConfigurationFile? {
        let bytes: [UInt8]
        do throws(Errno) {
            bytes = try readBytes(path: path)
        } catch {
            if error == .noSuchFileOrDirectory || error == .notDirectory, !isRequired { return nil }
            throw ServerError(
                .configurationUnreadable,
                "the configuration file \(path) cannot be read: correct its path or permissions", cause: error)
        }
        return try ConfigurationFile(path: path, bytes: bytes, settings: settings)
    }

    init(
        path: String, bytes: [UInt8], settings: [ConfigurationSetting] = ConfigurationSetting.all
    ) throws(ServerError) {
        self.path = path
        self.settings = settings
        guard bytes.count <= Self.maximumBytes else {
            throw ServerError(
                .configurationInvalid, "\(path): larger than the limit of \(Self.maximumBytes) bytes")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ServerError(.configurationInvalid, "\(path): not UTF-8 text, expected settings in YAML")
        }
        guard let root = try parse(text) else { return }
        // Yams parses a file with nothing but comments as an empty scalar.
        if case .scalar(let scalar) = root, scalar.string.isEmpty { return }
        guard case .mapping(let mapping) = root else {
            throw invalid(root.mark, "expected settings of the form \"key: value\"")
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

    /// Reads the settings below `parents`. An unknown key is an error, so the recursion is no deeper than the keys of
    /// the settings.
    private mutating func readSettings(_ mapping: Node.Mapping, under parents: [String]) throws(ServerError) {
        for (keyNode, valueNode) in mapping {
            guard case .scalar(let keyScalar) = keyNode else {
                throw invalid(keyNode.mark, "expected a setting's name before the colon")
            }
            let components = parents + [keyScalar.string]
            let key = components.joined(separator: ".")
            if let setting = settings.first(where: { $0.components == components }) {
                try read(setting, from: valueNode)
                continue
            }
            let known = knownNames(under: components)
            guard !known.isEmpty else {
                throw invalid(
                    keyNode.mark,
                    "unknown key \"\(key)\", expected one of \(Self.list(knownNames(under: parents)))")
            }
            switch valueNode {
            case .mapping(let inner):
                try readSettings(inner, under: components)
            case .scalar(let scalar) where scalar.string.isEmpty && scalar.style == .plain:
                continue
            default:
                throw invalid(valueNode.mark, "\(key): expected settings below it, such as \(Self.list(known))")
            }
        }
    }

    private mutating func read(_ setting: ConfigurationSetting, from node: Node) throws(ServerError) {
        guard case .records(let list) = setting.target else {
            values[AbsoluteConfigKey(setting.components)] = try value(of: node, for: setting)
            return
        }
        do {
            lists[setting.key] = try list.read(node, of: setting.key)
        } catch {
            throw invalid(error.mark, error.problem)
        }
    }

    private func value(of node: Node, for setting: ConfigurationSetting) throws(ServerError) -> ConfigValue {
        guard case .scalar(let scalar) = node else {
            throw invalid(node.mark, "\(setting.key): expected \(setting.expectation), not a list or mapping")
        }
        // The tag counts as well as the content: "5" in quotes is text, not a number.
        var trial = ServerConfiguration(socketPath: "", socketMode: 0, databasePath: "")
        guard let content = Self.content(of: node, for: setting), setting.apply(content, to: &trial),
            setting.isAllowedInFile(content)
        else {
            throw invalid(node.mark, "\(setting.key): expected \(setting.expectation), not \(scalar.asWritten)")
        }
        return ConfigValue(content, isSecret: false)
    }

    private static func content(of node: Node, for setting: ConfigurationSetting) -> ConfigContent? {
        switch (setting.type, node.tagName) {
        case (.string, _) where setting.isSize: node.quantity.map { .string($0) }
        case (.string, .str): node.string.map { .string($0) }
        case (.int, .int): node.int.map { .int($0) }
        case (.double, .int), (.double, .float): node.float.map { .double($0) }
        default: nil
        }
    }

    /// The keys allowed directly below `parents`.
    private func knownNames(under parents: [String]) -> [String] {
        var names: [String] = []
        for setting in settings
        where setting.components.count > parents.count && setting.components.starts(with: parents) {
            let name = setting.components[parents.count]
            if names.last != name { names.append(name) }
        }
        return names
    }

    private static func list(_ names: [String]) -> String { names.joined(separator: ", ") }

    private func invalid(_ mark: Mark?, _ problem: String) -> ServerError {
        let place = mark.map { "\(path):\($0.line)" } ?? path
        return ServerError(.configurationInvalid, "\(place): \(problem)")
    }

    private func describe(_ error: YamlError) -> ServerError {
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            invalid(mark, "not YAML: \(problem)")
        case .duplicatedKeysInMapping(let duplicates, let context):
            invalid(context.mark, "duplicate key: \(duplicates.sorted().joined(separator: ", "))")
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
