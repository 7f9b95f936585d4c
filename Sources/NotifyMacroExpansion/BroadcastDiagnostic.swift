import SwiftDiagnostics
import SwiftSyntax

/// A diagnostic of the macros.
enum BroadcastDiagnostic: DiagnosticMessage {
    case notAProtocol
    case repeatedBroadcast
    case unknownForm(String)
    case notClassBound(String)
    case inherited(String)
    case constrained
    case primaryAssociatedType
    case associatedType(String)
    case selfType
    case initializer
    case staticMember
    case operatorMember
    case mutating
    case optionalModifier
    case otherMember
    case conditional
    case nonisolated
    case hiddenDefaults
    case reservedName(String)
    case tooManyMethods(Int)

    case resultWithoutRule
    case ruleWithoutResult
    case unknownRule
    case collectRequiresArray(String)
    case firstRequiresOptional(String)
    case optionalWithAnswer
    case typedThrows
    case rethrowing
    case variadic(String)
    case consumed(String, by: String)

    case misplacedMarker(String)
    case repeated(String)
    case topicWithoutForm
    case topicNotLiteral
    case duplicateTopic(String)
    case notEncodable(String)
    case noCalls(String)

    /// The note at the first of two calls with the same topic.
    case otherTopic

    var severity: DiagnosticSeverity {
        switch self {
        case .topicWithoutForm: .warning
        case .otherTopic: .note
        default: .error
        }
    }

    var diagnosticID: MessageID {
        MessageID(domain: "NotifyBroadcast", id: String("\(self)".prefix { $0 != "(" }))
    }

    func diagnostic(at node: some SyntaxProtocol, notes: [Note] = [], fixIts: [FixIt] = []) -> Diagnostic {
        Diagnostic(node: node, message: self, notes: notes, fixIts: fixIts)
    }
}

extension BroadcastDiagnostic: NoteMessage {
    var noteID: MessageID { diagnosticID }
}

extension BroadcastDiagnostic {
    var message: String {
        switch self {
        case .notAProtocol: "'@Broadcast' can only be attached to a protocol"
        case .repeatedBroadcast: "duplicate '@Broadcast' attribute"
        case .unknownForm(let form): "unknown form '\(form)'; expected 'codable'"
        case .notClassBound(let name): "'\(name)' must inherit from 'AnyObject' because its receivers are held weakly"
        case .inherited(let name):
            "a broadcast protocol can only inherit from 'AnyObject' and 'Sendable'; "
                + "the requirements of '\(name)' are not visible to '@Broadcast'"
        case .constrained: "a protocol with a 'where' clause cannot be broadcast"
        case .primaryAssociatedType, .associatedType: associatedTypeMessage
        case .selfType: "'Self' cannot be broadcast; it is a different type for each receiver"
        case .initializer: "an initializer cannot be broadcast; receivers already exist"
        case .staticMember: "a static member cannot be broadcast; receivers are instances"
        case .operatorMember: "an operator cannot be broadcast; receivers are instances"
        case .mutating: "a mutating method cannot be broadcast; receivers are class instances"
        case .optionalModifier: "'optional' requires an '@objc' protocol; use '@Optional'"
        case .otherMember: "only methods, properties and subscripts can be broadcast"
        case .conditional: "'#if' hides requirements from '@Broadcast'; put it around the whole protocol"
        case .nonisolated: "a nonisolated requirement can be called from any thread; the receivers must be 'Sendable'"
        case .hiddenDefaults:
            "'@Optional' is not supported in a private protocol inside a type; an extension cannot access the protocol"
        case .reservedName(let name): "'\(name)' is reserved for the broadcaster; rename the requirement"
        case .tooManyMethods(let count):
            "\(count) requirements exceed the maximum of 64; split the protocol"
        default: requirementMessage
        }
    }

    private var associatedTypeMessage: String {
        guard case .associatedType(let name) = self else {
            return "a protocol with associated types cannot be broadcast; they are different types for each receiver"
        }
        return "the associated type '\(name)' cannot be broadcast; it is a different type for each receiver"
    }

    private var requirementMessage: String {
        switch self {
        case .resultWithoutRule: "a result requires '@Combined' to combine the results of several receivers"
        case .ruleWithoutResult: "'@Combined' requires a result"
        case .unknownRule: "'@Combined' requires a literal '.collect', '.first', '.first(or:)' or '.reduce(_:_:)'"
        case .collectRequiresArray(let type): "'.collect' requires an array, not '\(type)'"
        case .firstRequiresOptional(let type): "'.first' requires an optional, not '\(type)'"
        case .optionalWithAnswer:
            "with '.first(or:)' the default of '@Optional' would count as a result; write the default in an extension"
        case .typedThrows: "a typed 'throws' cannot combine the errors of several receivers"
        case .rethrowing: "'rethrows' cannot combine the errors of several receivers"
        case .variadic(let name): "'\(name)' is variadic and cannot be forwarded; use an array"
        case .consumed(let name, let specifier): "'\(name)' is '\(specifier)' and cannot be passed to several receivers"
        case .misplacedMarker(let marker):
            "'@\(marker)' can only be attached to a requirement of a '@Broadcast' protocol"
        case .repeated(let marker): "duplicate '@\(marker)' attribute"
        case .topicWithoutForm: "'@Topic' has no effect without '@Broadcast(codable)'"
        case .topicNotLiteral: "a topic must be a non-empty string literal without interpolation"
        case .duplicateTopic(let name): "duplicate topic '\(name)'; name one of the calls with '@Topic'"
        case .notEncodable(let what): "\(what) cannot be encoded; remove it from the '@Broadcast(codable)' protocol"
        case .noCalls(let name): "'\(name)' has no calls to encode"
        case .otherTopic: "the other call is here"
        default: ""
        }
    }
}
