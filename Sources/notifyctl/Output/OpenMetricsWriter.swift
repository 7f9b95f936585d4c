/// Writes metrics in the OpenMetrics text format, version 1.0.
struct OpenMetricsWriter {
    enum FamilyType: String {
        case counter, gauge, info, unknown

        /// The suffix that the name of a sample appends to the name of its family.
        fileprivate var suffix: String {
            switch self {
            case .counter: "_total"
            case .info: "_info"
            case .gauge, .unknown: ""
            }
        }
    }

    struct Sample {
        var labels: [(name: String, value: String)] = []
        var value: UInt64
    }

    private(set) var text = ""

    /// Appends a family of metrics. Characters of the name that the format does not allow become underscores. A name
    /// that ends with `_bytes` or `_seconds` declares that unit.
    mutating func append(_ name: String, _ type: FamilyType, help: String?, _ samples: [Sample]) {
        let name = String(name.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
        text += "# TYPE \(name) \(type.rawValue)\n"
        for unit in ["bytes", "seconds"] where name.hasSuffix("_\(unit)") { text += "# UNIT \(name) \(unit)\n" }
        if let help { text += "# HELP \(name) \(Self.escaped(help))\n" }
        for sample in samples {
            let labels = sample.labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }.joined(separator: ",")
            text += "\(name)\(type.suffix)\(labels.isEmpty ? "" : "{\(labels)}") \(sample.value)\n"
        }
    }

    /// Appends the line that marks the end of the metrics.
    mutating func end() {
        text += "# EOF\n"
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n").replacing("\"", with: "\\\"")
    }
}
