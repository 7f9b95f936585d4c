import NotifyCenter

extension NotificationObject {
    /// The object of a post, or nil if no observer can ask for it because it is neither an instance nor hashable.
    ///
    /// An instance may be of a class that is not sendable. It is compared by identity, and held weakly or by the post in
    /// progress; it is not used in any other way.
    init?(ofPost object: Any) {
        if let instance = Self.instance(object) {
            self.init(anyInstance: instance)
        } else if let text = object as? String {
            self.init(text)
        } else if let optional = object as? any OptionalObject {
            guard let wrapped = optional.wrapped else { return nil }
            self.init(ofPost: wrapped)
        } else if let value = object as? any Hashable {
            self.init(unsafeValue: value)
        } else if let type = object as? any Any.Type {
            self.init(value: ObjectIdentifier(type))
        } else {
            return nil
        }
    }

    /// The object, if it is an instance. A cast would first try everything else that an object may be, which takes longer
    /// than the post.
    private static func instance<Object>(_ object: Object) -> (any AnyObject & Sendable)? {
        guard Object.self is AnyClass else { return nil }
        // An instance of a class is a reference and nothing else, and Sendable has no representation.
        return withUnsafePointer(to: object) { UnsafeRawPointer($0).load(as: (any AnyObject & Sendable).self) }
    }

    /// The object that an observer asks for. If no post can have it, this is an instance that has been released, so that the
    /// observer is never called.
    init(ofObserver object: Any) {
        if let known = NotificationObject(ofPost: object) {
            self = known
        } else {
            self.init(instance: Released())
        }
    }

    private final class Released: Sendable {}
}

/// An optional inside an `Any`.
private protocol OptionalObject {
    var wrapped: Any? { get }
}

extension Optional: OptionalObject {
    var wrapped: Any? { self }
}
