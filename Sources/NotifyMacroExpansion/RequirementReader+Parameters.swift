import SwiftDiagnostics
import SwiftParser
import SwiftSyntax
import SwiftSyntaxBuilder

extension RequirementReader {
    /// Reads a parameter and determines the expression that forwards it.
    mutating func readParameter(
        _ parameter: FunctionParameterSyntax, at index: Int, of kind: Requirement.Kind
    ) -> Parameter {
        let first = parameter.firstName.text
        let second = parameter.secondName?.text
        // In a subscript, a single name is not a label.
        let label = first == "_" || (kind == .subscript && second == nil) ? nil : first
        let name = Self.usable(second ?? first) ?? "argument\(index + 1)"
        if parameter.ellipsis != nil { reportVariadic(parameter, name: name) }
        let type = parameter.type
        let valueType = (type.as(AttributedTypeSyntax.self)?.baseType ?? type).withoutImplicitUnwrapping
        return Parameter(
            label: label, name: name, type: type.trimmedDescription, valueType: valueType.trimmedDescription,
            argument: argument(name, of: type))
    }

    /// The name, if it is valid in an expression.
    private static func usable(_ name: String) -> String? {
        if name == "`self`" { return nil }
        return name.hasPrefix("`") || name.isValidSwiftIdentifier(for: .variableName) ? name : nil
    }

    private mutating func argument(_ name: String, of type: TypeSyntax) -> String {
        if type.is(PackExpansionTypeSyntax.self) {
            if isCodable { report(.notEncodable("a generic call"), at: type) }
            return "repeat each \(name)"
        }
        checkEncodable(type)
        guard let attributed = type.as(AttributedTypeSyntax.self) else { return name }
        var argument = name
        for specifier in attributed.specifiers {
            guard let specifier = specifier.as(SimpleTypeSpecifierSyntax.self)?.specifier else { continue }
            switch specifier.tokenKind {
            case .keyword(.inout): argument = "&\(name)"
            case .keyword(.consuming), .keyword(.sending), .keyword(.__owned):
                reportConsumed(specifier, name: name, in: attributed)
            default: break
            }
        }
        if attributed.attributes.contains(where: { $0.name == "autoclosure" }) {
            let specifiers = attributed.baseType.as(FunctionTypeSyntax.self)?.effectSpecifiers
            let effects = Effects(
                isAsync: specifiers?.asyncSpecifier != nil, isThrowing: specifiers?.throwsClause != nil)
            argument = "\(effects.call)\(name)()"
        }
        return argument
    }

    private mutating func reportVariadic(_ parameter: FunctionParameterSyntax, name: String) {
        let array = TypeSyntax(stringLiteral: "[\(parameter.type.trimmedDescription)]")
        let fixed = parameter.with(\.type, array).with(\.ellipsis, nil)
        let fix = FixIt("replace with an array", replacing: parameter, with: fixed)
        report(.variadic(name), at: parameter, fixIts: [fix])
    }

    private mutating func reportConsumed(_ specifier: TokenSyntax, name: String, in type: AttributedTypeSyntax) {
        let others = type.specifiers.filter { $0.as(SimpleTypeSpecifierSyntax.self)?.specifier != specifier }
        let fix = FixIt("remove '\(specifier.text)'", replacing: type, with: type.with(\.specifiers, others))
        report(.consumed(name, by: specifier.text), at: specifier, fixIts: [fix])
    }

    /// Reports types of parameters that cannot be encoded, such as closures and existentials.
    private mutating func checkEncodable(_ type: TypeSyntax) {
        if !isCodable { return }
        let finder = UnencodableTypeFinder(viewMode: .sourceAccurate)
        finder.walk(type)
        if let (node, what) = finder.found { report(.notEncodable(what), at: node) }
    }
}

private final class UnencodableTypeFinder: SyntaxVisitor {
    var found: (Syntax, String)?

    override func visit(_ node: TupleTypeSyntax) -> SyntaxVisitorContinueKind {
        // Parentheses around a single type are not a tuple.
        if node.elements.count == 1 { return .visitChildren }
        found = found ?? (Syntax(node), "a tuple")
        return .skipChildren
    }

    override func visit(_ node: MetatypeTypeSyntax) -> SyntaxVisitorContinueKind {
        found = found ?? (Syntax(node), "a type")
        return .skipChildren
    }

    override func visit(_ node: IdentifierTypeSyntax) -> SyntaxVisitorContinueKind {
        let names: Set = ["Any", "AnyObject"]
        if names.contains(node.name.text) { found = found ?? (Syntax(node), "a value of any type") }
        return .visitChildren
    }

    override func visit(_ node: SimpleTypeSpecifierSyntax) -> SyntaxVisitorContinueKind {
        if node.specifier.tokenKind == .keyword(.inout) { found = found ?? (Syntax(node), "an 'inout' parameter") }
        return .skipChildren
    }

    override func visit(_ node: FunctionTypeSyntax) -> SyntaxVisitorContinueKind {
        found = found ?? (Syntax(node), "a closure")
        return .skipChildren
    }

    override func visit(_ node: SomeOrAnyTypeSyntax) -> SyntaxVisitorContinueKind {
        let isSome = node.someOrAnySpecifier.tokenKind == .keyword(.some)
        found = found ?? (Syntax(node), isSome ? "a generic call" : "a value of any type")
        return .skipChildren
    }
}
