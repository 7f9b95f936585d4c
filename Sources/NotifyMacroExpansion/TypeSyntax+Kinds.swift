import SwiftSyntax

// Properties of a type that follow from its spelling. Aliases are not resolved.

extension TypeSyntax {
    /// The type without parentheses and without specifiers such as `sending`.
    var bare: TypeSyntax {
        if let attributed = self.as(AttributedTypeSyntax.self), attributed.attributes.isEmpty {
            return attributed.baseType.bare
        }
        if let tuple = self.as(TupleTypeSyntax.self), tuple.elements.count == 1, let element = tuple.elements.first {
            return element.type.bare
        }
        return self
    }

    /// The unqualified name without generic arguments, such as `Optional` for `Swift.Optional<Int>`, or nil.
    private var baseName: String? {
        bare.as(IdentifierTypeSyntax.self)?.name.text ?? bare.as(MemberTypeSyntax.self)?.name.text
    }

    var isOptional: Bool {
        let bare = bare
        if bare.is(OptionalTypeSyntax.self) || bare.is(ImplicitlyUnwrappedOptionalTypeSyntax.self) { return true }
        return baseName == "Optional"
    }

    /// Whether the type is certainly not an array. The compiler checks other types.
    var isKnownNonArray: Bool {
        let kinds: [any TypeSyntaxProtocol.Type] = [
            TupleTypeSyntax.self, DictionaryTypeSyntax.self, FunctionTypeSyntax.self, MetatypeTypeSyntax.self,
            SomeOrAnyTypeSyntax.self, InlineArrayTypeSyntax.self,
        ]
        let names: Set = ["Bool", "Int", "UInt", "Double", "Float", "String", "Character", "Set", "Dictionary"]
        let bare = bare
        return isOptional || kinds.contains { bare.is($0) } || baseName.map(names.contains) ?? false
    }

    /// `Wrapped?` for `Wrapped!`, which is only allowed in declarations.
    var withoutImplicitUnwrapping: TypeSyntax {
        guard let implicit = self.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) else { return self }
        return TypeSyntax(OptionalTypeSyntax(wrappedType: implicit.wrappedType.trimmed))
    }
}

extension Result {
    init(_ type: TypeSyntax) {
        var value = type
        if let attributed = type.as(AttributedTypeSyntax.self) {
            value = TypeSyntax(attributed.with(\.specifiers, [])).trimmed
        }
        self.init(
            type: type.trimmedDescription, valueType: value.withoutImplicitUnwrapping.trimmedDescription,
            isOptional: type.isOptional)
    }
}
