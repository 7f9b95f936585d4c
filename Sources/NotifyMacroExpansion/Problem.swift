import SwiftDiagnostics
import SwiftSyntax

/// What is wrong with a protocol, as the compiler shows it.
enum Problem: DiagnosticMessage {
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
    case collectsNoArray(String)
    case firstOfNoOptional(String)
    case optionalWithAnswer
    case typedThrows
    case rethrowing
    case variadic(String)
    case consumed(String, by: String)

    case markerOutside(String)
    case repeated(String)
    case topicWithoutForm
    case topicNotLiteral
    case duplicateTopic(String)
    case untransportable(String)
    case noCalls(String)

    /// Of the requirement that a note points to.
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

extension Problem: NoteMessage {
    var noteID: MessageID { diagnosticID }
}

extension Problem {
    var message: String {
        switch self {
        case .notAProtocol: "'@Broadcast' belongs on a protocol"
        case .repeatedBroadcast: "a protocol has one '@Broadcast': remove the other"
        case .unknownForm(let form): "'@Broadcast' takes 'codable', not '\(form)'"
        case .notClassBound(let name): "'\(name)' must inherit 'AnyObject': its receivers are held weakly"
        case .inherited(let name):
            "a broadcast protocol inherits only 'AnyObject' and 'Sendable': what '\(name)' requires is not seen here"
        case .constrained: "a protocol with a 'where' clause cannot be broadcast"
        case .primaryAssociatedType, .associatedType: associatedTypeMessage
        case .selfType: "'Self' cannot be broadcast: it is another type for each receiver"
        case .initializer: "an initializer cannot be broadcast: receivers exist already"
        case .staticMember: "a static member cannot be broadcast: receivers are instances"
        case .operatorMember: "an operator cannot be broadcast: receivers are instances"
        case .mutating: "a mutating method cannot be broadcast: receivers are instances of classes"
        case .optionalModifier: "'optional' is of Objective-C"
        case .otherMember: "only methods, properties and subscripts can be broadcast"
        case .conditional: "'#if' hides what is required: put it around the whole protocol"
        case .nonisolated: "a nonisolated requirement is called from anywhere: the receivers must be 'Sendable'"
        case .hiddenDefaults: "an extension with empty defaults would not see a private protocol inside of a type"
        case .reservedName(let name): "'\(name)' is the broadcaster's own: give the requirement another name"
        case .tooManyMethods(let count):
            "\(count) requirements are too many to choose from: split the protocol (at most 64)"
        default: requirementMessage
        }
    }

    private var associatedTypeMessage: String {
        guard case .associatedType(let name) = self else {
            return "a protocol with associated types cannot be broadcast: they are others for each receiver"
        }
        return "the associated type '\(name)' cannot be broadcast: it is another for each receiver"
    }

    private var requirementMessage: String {
        switch self {
        case .resultWithoutRule: "say with '@Combined' how the receivers' results become one"
        case .ruleWithoutResult: "there is no result to combine"
        case .unknownRule: "'@Combined' takes '.collect', '.first', '.first(or:)' or '.reduce(_:_:)', spelled out"
        case .collectsNoArray(let type): "'.collect' joins arrays, and '\(type)' is none"
        case .firstOfNoOptional(let type): "'.first' may find no answer, and '\(type)' is not optional"
        case .optionalWithAnswer:
            "with '.first(or:)' an empty default would pass for an answer: write the default in an extension"
        case .typedThrows: "a typed 'throws' cannot hold what several receivers throw"
        case .rethrowing: "'rethrows' cannot hold what several receivers throw"
        case .variadic(let name): "'\(name)' is variadic and cannot be handed on: take an array"
        case .consumed(let name, let specifier): "'\(name)' is '\(specifier)': only one receiver could have it"
        case .markerOutside(let marker): "'@\(marker)' belongs on a requirement of a '@Broadcast' protocol"
        case .repeated(let marker): "there is another '@\(marker)' in front of this"
        case .topicWithoutForm: "'@Topic' names a call that travels, which needs '@Broadcast(codable)'"
        case .topicNotLiteral: "a topic is a string literal without interpolation that is not empty"
        case .duplicateTopic(let name): "two calls travel as '\(name)': name one of them with '@Topic'"
        case .untransportable(let what): "\(what) cannot travel: take it out of a '@Broadcast(codable)' protocol"
        case .noCalls(let name): "'\(name)' has no calls that could travel"
        case .otherTopic: "the other is here"
        default: ""
        }
    }
}
