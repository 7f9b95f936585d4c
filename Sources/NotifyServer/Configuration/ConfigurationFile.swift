import Configuration
import NotifySystem
import NotifyYAML

/// The settings in the configuration file. The whole file is checked. An error contains the number of the invalid line.
struct ConfigurationFile {
    let document: ConfigurationDocument
    private let settings: [ConfigurationSetting]
    private(set) var values: [AbsoluteConfigKey: ConfigValue] = [:]
    /// The lists of records, by the key of their setting.
    private(set) var lists: [String: RecordList.Assignment] = [:]
    /// The place of each setting in the file, by the setting's key.
    private var marks: [String: Mark] = [:]

    /// Reads and checks a file.
    ///
    /// - Returns: `nil` if the file does not exist and is not required.
    static func read(
        path: String, isRequired: Bool, settings: [ConfigurationSetting] = ConfigurationSetting.all
    ) throws(ServerError) -> ConfigurationFile? {
        guard let document = try ConfigurationDocument.read(path: path, isRequired: isRequired) else { return nil }
        return try ConfigurationFile(document, settings: settings)
    }

    init(
        _ document: ConfigurationDocument, settings: [ConfigurationSetting] = ConfigurationSetting.all
    ) throws(ServerError) {
        self.document = document
        self.settings = settings
        guard let root = document.root else { return }
        guard case .mapping(let mapping) = root else {
            throw invalid(root.mark, "expected settings of the form \"key: value\"")
        }
        try readSettings(mapping, under: [])
    }

    /// Reads the settings below `parents`. An unknown key is an error, so the recursion is no deeper than the longest
    /// key of a setting.
    private mutating func readSettings(_ mapping: Node.Mapping, under parents: [String]) throws(ServerError) {
        for (keyNode, valueNode) in mapping {
            guard case .scalar(let keyScalar) = keyNode else {
                throw invalid(keyNode.mark, "expected a setting's name before the colon")
            }
            let components = parents + [keyScalar.string]
            let key = components.joined(separator: ".")
            if let setting = settings.first(where: { $0.components == components }) {
                marks[key] = keyNode.mark
                try read(setting, from: valueNode)
                continue
            }
            let known = knownNames(under: components)
            guard !known.isEmpty else {
                throw invalid(
                    keyNode.mark,
                    "unknown key \"\(key.excerpt)\", expected one of \(Self.list(knownNames(under: parents)))"
                        + hint(for: components))
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
            lists[setting.key] = try list.read(node, of: setting.key, in: document.path)
        } catch {
            throw invalid(error.mark, error.problem)
        }
    }

    private func value(of node: Node, for setting: ConfigurationSetting) throws(ServerError) -> ConfigValue {
        guard case .scalar(let scalar) = node else {
            throw invalid(node.mark, "\(setting.key): expected \(setting.expectation), not a list or mapping")
        }
        // The YAML tag is checked, too, because "5" in quotes is text and not a number.
        var trial = ServerConfiguration(socketPath: "", socketMode: 0, databasePath: "")
        guard let content = Self.content(of: node, for: setting), setting.apply(content, to: &trial),
            setting.isAllowedInFile(content)
        else {
            throw invalid(node.mark, "\(setting.key): expected \(setting.expectation), not \(scalar.asWritten)")
        }
        return ConfigValue(content, isSecret: false)
    }

    private static func content(of node: Node, for setting: ConfigurationSetting) -> ConfigContent? {
        switch (setting.type, node.tag) {
        case (.string, _) where setting.isQuantity: node.quantity.map { .string($0) }
        case (.string, .int) where setting.isCount: node.quantity.map { .string($0) }
        case (.string, .bool) where setting.isBoolean: node.string.map { .string($0) }
        case (.string, .str) where !setting.isCount && !setting.isBoolean: node.string.map { .string($0) }
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

    /// A hint for a key that belongs in the records of a list, such as `history_age` in `log.retention`; empty for any
    /// other key.
    private func hint(for components: [String]) -> String {
        let parents = components.dropLast()
        let list = settings.first { setting in
            guard case .records(let list) = setting.target else { return false }
            return setting.components.dropLast() == parents && list.hasKey(components[parents.count])
        }
        guard let list else { return "" }
        return "; it is a key of the records in \(list.key)"
    }

    private static func list(_ names: [String]) -> String { names.joined(separator: ", ") }

    /// Makes an error about settings that contradict each other. The error has the line of the first of `keys` that is
    /// in the file.
    ///
    /// - Returns: `nil` if the file contains none of the settings.
    func contradiction(_ keys: [String], _ problem: String) -> ServerError? {
        keys.lazy.compactMap { marks[$0] }.first.map { invalid($0, problem) }
    }

    private func invalid(_ mark: Mark?, _ problem: String) -> ServerError { document.invalid(mark, problem) }
}
