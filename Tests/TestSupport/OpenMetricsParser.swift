/// A strict parser of the part of OpenMetrics 1.0 that notifyctl writes: families of counters, gauges, infos and
/// unknowns, whose samples have integral values and no timestamps.
package struct OpenMetricsParser {
    package struct Invalid: Error, CustomStringConvertible {
        package let description: String
    }

    package struct Sample {
        package var name: String
        package var labels: [String: String]
        package var value: UInt64
    }

    package struct Family {
        package var name: String
        package var type: String
        package var unit: String?
        package var help: String?
        package var samples: [Sample] = []
    }

    private static let suffixes = ["counter": "_total", "gauge": "", "info": "_info", "unknown": ""]

    /// - Throws: ``Invalid`` for text that breaks a rule of the format.
    package static func parse(_ text: String) throws -> [Family] {
        guard text.hasSuffix("# EOF\n") else { throw Invalid(description: "the text does not end with # EOF") }
        var parser = OpenMetricsParser()
        for line in text.dropLast(6).split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            do {
                try parser.read(line)
            } catch let error as Invalid {
                throw Invalid(description: "\(error) in: \(line)")
            }
        }
        return parser.families
    }

    private var families: [Family] = []

    private mutating func read(_ line: Substring) throws {
        guard line.hasPrefix("#") else { return try readSample(line) }
        let parts = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0] == "#" else { throw Invalid(description: "a malformed descriptor") }
        let name = String(parts[2])
        if families.last?.name != name { try begin(name) }
        let index = families.count - 1
        guard families[index].samples.isEmpty else { throw Invalid(description: "a descriptor after a sample") }
        switch parts[1] {
        case "TYPE" where families[index].type.isEmpty && Self.suffixes[String(parts[3])] != nil:
            families[index].type = String(parts[3])
        case "UNIT" where families[index].unit == nil && name.hasSuffix("_\(parts[3])"):
            families[index].unit = String(parts[3])
        case "HELP" where families[index].help == nil:
            families[index].help = try Self.unescaped(parts[3])
        default: throw Invalid(description: "an unknown, repeated or wrong descriptor")
        }
    }

    private mutating func begin(_ name: String) throws {
        guard name.wholeMatch(of: /[a-zA-Z_:][a-zA-Z0-9_:]*/) != nil else { throw Invalid(description: "a wrong name") }
        guard !families.contains(where: { $0.name == name }) else { throw Invalid(description: "a repeated family") }
        families.append(Family(name: name, type: ""))
    }

    private mutating func readSample(_ line: Substring) throws {
        guard let family = families.last, let suffix = Self.suffixes[family.type] else {
            throw Invalid(description: "a sample without a type")
        }
        let pattern = /([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? ([0-9]+)/
        guard let match = line.wholeMatch(of: pattern), let value = UInt64(match.3) else {
            throw Invalid(description: "a malformed sample")
        }
        guard match.1 == family.name + suffix else { throw Invalid(description: "a sample of another name") }
        let labels = try Self.labels(match.2 ?? "")
        guard !family.samples.contains(where: { $0.labels == labels }) else {
            throw Invalid(description: "a repeated sample")
        }
        guard family.type != "info" || value == 1 else { throw Invalid(description: "an info that is not 1") }
        families[families.count - 1].samples.append(Sample(name: String(match.1), labels: labels, value: value))
    }

    private static func labels(_ text: Substring) throws -> [String: String] {
        var labels: [String: String] = [:]
        var rest = text
        while !rest.isEmpty {
            guard let match = rest.prefixMatch(of: /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"(,|$)/) else {
                throw Invalid(description: "malformed labels")
            }
            guard labels.updateValue(try unescaped(match.2), forKey: String(match.1)) == nil else {
                throw Invalid(description: "a repeated label")
            }
            rest = rest[match.range.upperBound...]
            guard match.3.isEmpty || !rest.isEmpty else { throw Invalid(description: "a comma after the last label") }
        }
        return labels
    }

    private static func unescaped(_ text: Substring) throws -> String {
        var result = ""
        var rest = text
        while let character = rest.popFirst() {
            switch character {
            case "\"": throw Invalid(description: "a quote without backslash")
            case "\\":
                switch rest.popFirst() {
                case "n": result.append("\n")
                case "\"": result.append("\"")
                case "\\": result.append("\\")
                default: throw Invalid(description: "an unknown escape")
                }
            default: result.append(character)
            }
        }
        return result
    }
}
