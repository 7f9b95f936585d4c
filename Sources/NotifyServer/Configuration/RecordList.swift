import NotifyYAML

/// A setting whose value is a list of records: the keys of a record, and the property that the list is assigned to.
///
///     static let names = RecordKey.list("names", of: .text("a name pattern") { NamePattern($0) }, isRequired: true)
///     static let age = RecordKey.one("max_age", .duration(.zero ... .seconds(3600)))
///
///     .init("log.retention", .records(RecordList(\.retention, [names, age]) { record in
///         RetentionRule(names: record[names] ?? [], maximumAge: record[age])
///     }))
struct RecordList: Sendable {
    /// Assigns a parsed list to its property of the configuration.
    typealias Assignment = @Sendable (inout ServerConfiguration) -> Void

    let differs: @Sendable (ServerConfiguration, ServerConfiguration) -> Bool
    private let keys: [any DeclaredRecordKey]
    private let assign: @Sendable ([ConfigurationRecord]) throws(ConfigurationFileError) -> Assignment

    /// - Parameter make: Makes the value of a record. It may throw the result of ``ConfigurationRecord/error(_:)``.
    init<Value: Sendable & Equatable>(
        _ path: ConfigurationSetting.Path<[Value]>, _ keys: [any DeclaredRecordKey],
        make: @escaping @Sendable (ConfigurationRecord) throws(ConfigurationFileError) -> Value
    ) {
        self.keys = keys
        differs = { $0[keyPath: path] != $1[keyPath: path] }
        assign = { records throws(ConfigurationFileError) in
            var values: [Value] = []
            for record in records { values.append(try make(record)) }
            return { [values] in $0[keyPath: path] = values }
        }
    }

    /// Describes a valid value, for the error about an invalid one.
    var expectation: String { "a list of records with the keys \(keyNames)" }

    func hasKey(_ name: String) -> Bool { keys.contains { $0.name == name } }

    private var keyNames: String { keys.map(\.name).joined(separator: ", ") }

    /// Reads and checks the list in `node`, which is the value of `setting`.
    ///
    /// - Parameter path: The path of the file that contains the list.
    func read(
        _ node: Node, of setting: String, in path: String
    ) throws(ConfigurationFileError) -> Assignment {
        guard case .sequence(let sequence) = node else {
            throw ConfigurationFileError(node.mark, "\(setting): expected \(expectation)")
        }
        var budget = RecordBudget()
        var records: [ConfigurationRecord] = []
        for element in sequence {
            guard case .mapping(let mapping) = element else {
                throw ConfigurationFileError(element.mark, "\(setting): expected a record with the keys \(keyNames)")
            }
            records.append(try record(mapping, of: setting, in: path, &budget))
        }
        return try assign(records)
    }

    private func record(
        _ mapping: Node.Mapping, of setting: String, in path: String, _ budget: inout RecordBudget
    ) throws(ConfigurationFileError) -> ConfigurationRecord {
        var record = ConfigurationRecord(setting: setting, path: path, mark: mapping.mark)
        for (keyNode, valueNode) in mapping {
            guard let key = keys.first(where: { $0.name == keyNode.string }) else {
                let name = keyNode.string?.excerpt ?? "list or mapping"
                throw ConfigurationFileError(
                    keyNode.mark, "\(setting): unknown key \"\(name)\", expected one of \(keyNames)")
            }
            do {
                record.values[key.name] = try key.value(of: valueNode, &budget)
            } catch {
                throw ConfigurationFileError(error.mark, "\(setting).\(key.name): \(error.problem)")
            }
        }
        for key in keys where key.isRequired && record.values[key.name] == nil {
            throw record.error("expected a key \"\(key.name)\" in this record")
        }
        return record
    }
}

/// A checked record of a list. Every required key is present, and every value has the declared type.
struct ConfigurationRecord {
    fileprivate let setting: String
    /// The path of the file that contains the record.
    let path: String
    fileprivate let mark: Mark?
    fileprivate var values: [String: any Sendable] = [:]

    /// The line at which the record begins, from 1.
    var line: Int { mark?.line ?? 0 }

    /// The value of a key; `nil` if the record does not have the key.
    subscript<Value>(key: RecordKey<Value>) -> Value? { values[key.name] as? Value }

    /// Makes an error about the record as a whole, for example about keys that exclude each other.
    func error(_ problem: String) -> ConfigurationFileError {
        ConfigurationFileError(mark, "\(setting): \(problem)")
    }
}

/// An error in the configuration file, and its place.
struct ConfigurationFileError: Error {
    let mark: Mark?
    let problem: String

    init(_ mark: Mark?, _ problem: String) {
        self.mark = mark
        self.problem = problem
    }
}
