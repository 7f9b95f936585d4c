/// The version of notifyd, its tools and libraries, which are released together.
package let notifydVersion = "0.1.0"
