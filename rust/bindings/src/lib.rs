//! The Python extension of ringview: classes, Arrow in and out, errors to exceptions.
