// The source of the generated `Codable` calls.

extension ProtocolModel {
    /// The enumeration of the calls and its `Codable` conformance.
    var call: String {
        let conformances = isSendable ? "Swift.Codable, Swift.Sendable" : "Swift.Codable"
        // Repeated, because the type aliases of the protocol are only visible in conforming types.
        let aliases = aliases.map { "    \(access)\($0)" }
        let cases = requirements.map { "    case \($0.memberName)\($0.payload)" }
        let names = requirements.map { "        case .\($0.memberName): \($0.topic.literal)" }
        return """
            /// A `Codable` call of `\(name)`.
            \(attributes)\(level)nonisolated enum \(callName): \(conformances) {
            \((aliases + cases).joined(separator: "\n"))

                /// The encoded name of the call.
                \(access)var name: Swift.String {
                    switch self {
            \(names.joined(separator: "\n"))
                    }
                }

                \(access)init(from decoder: any Swift.Decoder) throws {
                    let call = try NotifyBroadcast.CallDecoder(decoder)
                    switch call.name {
            \(indented(indented(requirements.map(\.decoding).joined(separator: "\n"))))
                    default:
                        throw call.unknownName(in: \(name.withoutBackticks.literal))
                    }
                    try call.end()
                }

                \(access)func encode(to encoder: any Swift.Encoder) throws {
                    let call = NotifyBroadcast.CallEncoder(encoder, name: name)
                    switch self {
            \(indented(indented(requirements.map(\.encoding).joined(separator: "\n"))))
                    }
                }
            }
            """
    }

    /// The broadcaster's method that dispatches a call.
    var dispatch: String {
        let effects = Effects(
            isAsync: requirements.contains(where: \.effects.isAsync),
            isThrowing: requirements.contains(where: \.effects.isThrowing))
        return """
            /// Dispatches a call to the receivers, as if its method were called.
            \(access)func dispatch(_ call: \(callName))\(effects.specifiers) {
                switch call {
            \(indented(requirements.map(\.dispatching).joined(separator: "\n")))
                }
            }
            """
    }
}

extension Requirement {
    /// The types of the case's associated values, in parentheses, or empty.
    fileprivate var payload: String {
        if parameters.isEmpty { return "" }
        let values = caseParameters.map { parameter in
            parameter.label.map { "\($0): \(parameter.valueType)" } ?? parameter.valueType
        }
        return "(\(values.joined(separator: ", ")))"
    }

    fileprivate var decoding: String {
        let values = caseParameters.map { $0.labelled("call.next()") }
        let value = values.isEmpty ? "" : "(\(values.joined(separator: ", ")))"
        return """
            case \(topic.literal):
                self = \(values.isEmpty ? "" : "try ").\(memberName)\(value)
            """
    }

    fileprivate var encoding: String {
        """
        case .\(memberName)\(bindings):
            try call.encode(\(values.joined(separator: ", ")))
        """
    }

    fileprivate var dispatching: String {
        let arguments = zip(parameters, values).map { $0.labelled($1) }
        return """
            case .\(memberName)\(bindings):
                \(effects.call)self.\(name)(\(arguments.joined(separator: ", ")))
            """
    }

    private var bindings: String {
        parameters.isEmpty ? "" : "(\(values.map { "let \($0)" }.joined(separator: ", ")))"
    }

    /// The parameters of the case. A repeated label is removed: unlike those of a method, the labels of a case must be
    /// unique.
    private var caseParameters: [Parameter] {
        var labels: Set<String> = []
        return parameters.map { parameter in
            guard let label = parameter.label, !labels.insert(label.withoutBackticks).inserted else { return parameter }
            return parameter.withoutLabel
        }
    }

    /// The names of the associated values in patterns. They do not shadow `call`, `name` and `encoder`.
    private var values: [String] {
        parameters.map { ["call", "name", "encoder"].contains($0.name) ? local("\($0.name)_") : $0.name }
    }
}

extension String {
    /// The string as a literal.
    fileprivate var literal: String {
        "\"\(unicodeScalars.map { $0.escaped(asASCII: false) }.joined())\""
    }
}
